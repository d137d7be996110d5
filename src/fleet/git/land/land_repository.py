"""A project's repository for landing: fleet's own git directory to fold in, and the refs, which
move in one transaction.

The git directory is one a repository, whichever of its working trees a task was made in. Its
working tree is an empty directory, so that git reads attributes from the commits alone.

A process that is killed may leave its git behind, which moves refs or files a moment later. So git
reads from a file that is locked as long as any process has it open (`fleet-land.moves` in the
common git directory): a process that decides by where they stand waits for that lock first.
"""

import fcntl
import os
import re
import time
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO

from fleet.errors import FleetError
from fleet.files.file_lock import exclusive
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.own_repository import own_repository
from fleet.git.own.project_refs import refs_of
from fleet.git.repository import Repository
from fleet.home import Home

_EMPTY = "empty"
_MOVES = "fleet-land.moves"
#: Seconds between looks at its lock, and that another process is waited for.
_PAUSE, _PATIENCE = 0.02, 30.0
#: One of 256 directories of objects, and how many in there are a sign of many in all.
_SAMPLE, _MANY = "17", 27
#: The first git that can merge without an index and a working tree.
_OLDEST = (2, 38)
_VERSION = re.compile(r"(\d+)\.(\d+)")


class LandRepository:
    """One repository, until a moment of the monotonic clock. Raises FleetError if git is too old,
    and GitFailed if the repository cannot be read.
    """

    def __init__(self, home: Path, repo: Repository, until: float) -> None:
        #: The project, by the working tree that it was asked for.
        self.repo = repo
        self.until = until
        self._moves_lock = Home(home).moves_lock
        #: The repository without regard to a working tree.
        self.common = Repository(
            root=repo.common_dir, git_dir=repo.common_dir, common_dir=repo.common_dir
        )
        self.own = own_repository(home, self.common)
        empty = Path(self.own.git_dir) / _EMPTY
        empty.mkdir(mode=0o700, exist_ok=True)
        place = self.own.git_dir
        #: Git in fleet's own directory, which reads the project's objects too.
        self.git = Git(Repository(root=str(empty), git_dir=place, common_dir=place), until)
        #: Git for the refs of the project.
        self.refs = refs_of(self.own, self.common, until)
        require_git(self.git)

    def hold_boxes(self) -> AbstractContextManager[None]:
        """Let no box start in the home while inside: a checkout moves."""
        return exclusive(self._moves_lock)

    def move_refs(self, moves: Sequence[str], why: str) -> None:
        """Carry out lines as `git update-ref -z --stdin` reads them, all or none. Raises
        GitFailed.
        """
        with self._moves_file() as file:
            file.truncate(0)
            file.write(os.fsencode("".join(moves)))
            file.flush()
            file.seek(0)
            self.refs.ask("update-ref", "--no-deref", "-m", why, "-z", "--stdin", feed=file)

    def ask_alone(self, git: Git, *args: str) -> None:
        """Run a git command that `wait_for_moves` waits for, and that reads nothing. Raises
        GitFailed.
        """
        with self._moves_file() as file:
            file.truncate(0)
            git.ask(*args, feed=file)

    def wait_for_moves(self) -> None:
        """Return when no git of a killed process moves refs or files any more. Raises GitFailed."""
        if os.path.lexists(self._moves_path):
            with self._moves_file():
                pass

    @property
    def _moves_path(self) -> str:
        return f"{self.repo.common_dir}/{_MOVES}"

    @contextmanager
    def _moves_file(self) -> Generator[IO[bytes]]:
        """What git is to do: locked as long as any process has the file open."""
        path = self._moves_path
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise GitFailed(f"{path} cannot be opened: {error.strerror or error}") from error
        with os.fdopen(fd, "r+b") as file:
            until = min(self.until, time.monotonic() + _PATIENCE)
            while not _is_locked(fd):
                if time.monotonic() >= until:
                    raise GitFailed(f"another process holds {path}")
                time.sleep(_PAUSE)
            yield file

    def tidy(self) -> None:
        """Delete old folds, if there are many: what landed is in the project by now."""
        sample = Path(self.own.git_dir) / "objects" / _SAMPLE
        if sample.is_dir() and len(os.listdir(sample)) >= _MANY:  # noqa: PTH208
            with suppress(GitFailed):
                self.git.ask("prune", "--expire=1.day.ago")


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def require_git(git: Git) -> None:
    """Raise FleetError unless git can merge without a working tree."""
    said = _version(git)
    if not is_new_enough(said):
        raise FleetError(
            f"landing needs git {'.'.join(map(str, _OLDEST))} or later, and this is {said!r}",
            hint="Install a newer git, or switch landing off: fleet config set land off",
        )


#: What `git version` said, by the program and its time of change: asked once a process.
_SAID: dict[tuple[str, float], str] = {}


def _version(git: Git) -> str:
    key = git.program, os.stat(git.program).st_mtime if git.program else 0.0  # noqa: PTH116
    if key not in _SAID:
        _SAID[key] = git.line("version")
    return _SAID[key]


def is_new_enough(said: str) -> bool:
    """Whether `git version` names a git that landing can work with. Pure."""
    found = _VERSION.search(said)
    return found is not None and (int(found[1]), int(found[2])) >= _OLDEST
