"""$FLEET_HOME: the paths inside, and the rights of users."""

import os
import stat
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from msgspec import Struct

from fleet import config
from fleet.config.projects import MIRRORS, mirror_key
from fleet.errors import HomeError
from fleet.schemas import check_id

#: In the home: the directory that comes first on agents' PATH, and the hook of their CLIs in there.
AGENT_BIN = "bin"
#: In the home: the clones of tasks.
CLONES = "worktrees"
HOOK = "fleet-hook"


class Home(Struct, frozen=True, dict=True):
    """One fleet home: paths only, which are neither read nor made."""

    path: Path

    @cached_property
    def real_path(self) -> str:
        """The home's path without links, read once."""
        return os.path.realpath(self.path)

    @cached_property
    def config(self) -> Path:
        return self.path / config.FILE

    @cached_property
    def tasks(self) -> Path:
        return self.path / "tasks"

    @cached_property
    def worktrees(self) -> Path:
        """One directory for each task that works in a clone. The name is older than clones;
        sessions of agents and what a set-up installed are bound to the paths below it.
        """
        return self.path / CLONES

    def clone(self, task_id: str) -> Path:
        """The place of a task's clone. Raises BadInput for an id that cannot be a file name."""
        return _below(self.worktrees, task_id)

    def mirror(self, url: str) -> Path:
        """The place of the mirror of a repository, which stands for a directory of another host."""
        return self.path / MIRRORS / mirror_key(url)

    @cached_property
    def moves_lock(self) -> Path:
        """Held alone while a person's checkout moves, and shared while a box starts."""
        return self.path / "moves.lock"

    @cached_property
    def logging(self) -> Path:
        return self.path / "logging"

    @cached_property
    def beads(self) -> Path:
        return self.path / ".beads"

    def task(self, task_id: str) -> Path:
        """A task's own directory. Raises BadInput for an id that cannot be a file name."""
        return _below(self.tasks, task_id)


@lru_cache(maxsize=64)
def _below(folder: Path, task_id: str) -> Path:
    """Cached: a supervisor asks some ten times a task, and a cached path has the text ready. Only a
    few: a supervisor sees many thousand tasks.
    """
    return folder / check_id(task_id)


def home_from(env: Mapping[str, str]) -> Home:
    """The home that the environment names: $FLEET_HOME, or ~/.fleet."""
    named = env.get("FLEET_HOME")
    if named:
        return Home(Path(named).absolute())
    user = env.get("HOME")
    if not user:
        raise HomeError("neither FLEET_HOME nor HOME is set", hint="Set FLEET_HOME to a directory.")
    return Home(Path(user) / ".fleet")


def open_home(home: Home) -> Home:
    """The home, if it exists and only the owner can write there. Raises HomeError."""
    if home.path.exists() and not home.path.is_dir():
        raise HomeError(f"{home.path} is a file", hint="Set FLEET_HOME elsewhere.")
    if not home.path.is_dir():
        raise HomeError(f"there is no fleet home at {home.path}", hint="Run: fleet init")
    refuse_unsafe(home)
    if not home.config.exists():
        raise HomeError(
            f"{home.path} is not a fleet home: no {config.FILE}", hint="Run: fleet init"
        )
    return home


def refuse_unsafe(home: Home) -> None:
    """Raise HomeError for a home that others can write to: they could run commands as the owner."""
    found = home.path.stat()
    if found.st_uid != os.getuid():
        raise HomeError(
            f"{home.path} belongs to another user (uid {found.st_uid})",
            hint="Set FLEET_HOME to a directory of your own.",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise HomeError(
            f"others can write to {home.path} (mode {stat.S_IMODE(found.st_mode):04o})",
            hint=f"Close it: chmod 700 {home.path}",
        )


def make_home(home: Home) -> bool:
    """Create the home's directories, for the owner only. True if the home is new."""
    try:
        home.path.mkdir(mode=0o700, parents=True)
        new = True
    except FileExistsError:
        if not home.path.is_dir():
            raise HomeError(f"{home.path} is a file", hint="Set FLEET_HOME elsewhere.") from None
        refuse_unsafe(home)
        new = False
    except OSError as error:
        raise HomeError(
            f"{home.path} cannot be made: {error.strerror}", hint="Set FLEET_HOME elsewhere."
        ) from error
    try:
        home.path.chmod(0o700)
        for directory in (home.tasks, home.logging):
            directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise HomeError(
            f"{home.path} cannot be written: {error.strerror}",
            hint="Make it yours, or name another home in FLEET_HOME.",
        ) from error
    return new
