"""How fleet calls `bd`: always the same environment, an actor each time, few calls at once; and
which version of bd that is.

Every value is passed as `--flag=value` and every id behind `--`, so that no text that a person
wrote can be taken for a flag.
"""

import os
import re
import shutil
import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from fleet.errors import QueueBusy
from fleet.files.safe_read import stamp_of
from fleet.home import AGENT_BIN
from fleet.processes.agent_identity import asked_by
from fleet.processes.bounded_call import DEVNULL, Exited, Stream
from fleet.queue.beads.bd_cli import bd_output
from fleet.queue.beads.bd_cli.bd_process import LIMIT, capture

Version = tuple[int, int, int]

#: The first version that can guard an update by the current status and assignee.
GUARDED_UPDATES: Version = (1, 3, 0)

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_FIRST_SHARED: Version = (1, 0, 4)
_KNOWN_BAD: Mapping[Version, str] = {
    (1, 0, 4): "it can overwrite other writers' data in server mode",
    (1, 0, 5): "it was withdrawn because it can damage its own database",
    (1, 1, 0): "it can damage its own database and lose closes",
    (1, 2, 1): "it was released by accident and withdrawn",
}

FOLDER = ".beads"
TIMEOUT = timedelta(seconds=30)
#: The actor that bd is given where the caller names none.
FLEET = "fleet"

#: bd's engine takes a core or more; a crowd of them only makes each other slower.
_AT_ONCE = threading.BoundedSemaphore(2)

_VERSIONS: dict[tuple[str, tuple[int, int, int]], Version | None] = {}

#: What would lead bd to another database than the home's.
_ASTRAY = ("BD_DB", "BEADS_DB", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE")
#: What would change bd's answers behind our back: who asks, and the modes made for agents.
_REMOVED = (
    "ANTHROPIC_CLI", "BD_ACTOR", "BD_AGENT_MODE", "BD_BACKEND", "BD_DATABASE_BACKEND", "BD_JSON",
    "BD_READONLY", "BEADS_ACTOR", "BEADS_MAX_ROWS", "CLAUDECODE", "CLAUDE_CODE",
    "CLAUDE_SESSION_ID", "CURSOR_TRACE_ID",
)  # fmt: skip
_FIXED = {
    "BD_NON_INTERACTIVE": "1",
    "BD_JSON_ENVELOPE": "1",
    "BD_DISABLE_METRICS": "1",
    "BD_NO_PARTIAL_ID_NOTICE": "1",
    "DOLT_DISABLE_EVENT_FLUSH": "1",
}


def users_environment(home: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a bd that a user calls through fleet: theirs, on the home's database."""
    kept = {name: value for name, value in base.items() if name not in _ASTRAY}
    return kept | {
        "BEADS_DIR": str(home / FOLDER),
        # A home may lie inside a repository of the user's: bd must not find that one.
        "GIT_CEILING_DIRECTORIES": str(home.resolve().parent),
        **_path_to_bd(home, base),
        **_role(base),
    }


def _path_to_bd(home: Path, base: Mapping[str, str]) -> dict[str, str]:
    """A PATH that leads to the real bd: an agent finds fleet's own `bd` first, which would end in
    an endless recursion.
    """
    own = os.path.realpath(home / AGENT_BIN)
    folders = base.get("PATH", os.defpath).split(os.pathsep)
    kept = [folder for folder in folders if os.path.realpath(folder) != own]
    return {"PATH": os.pathsep.join(kept)}


def environment(home: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of every call of bd that fleet makes unasked."""
    kept = {name: value for name, value in base.items() if name not in _REMOVED}
    return users_environment(home, kept) | _FIXED


def creators_environment(home: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The environment of a user's call whose answer fleet has to read: the user asks, in fleet's
    format.
    """
    return users_environment(home, base) | _FIXED


def _role(base: Mapping[str, str]) -> dict[str, str]:
    """The role as git configuration that stands in no file: without one bd warns each time."""
    number = base.get("GIT_CONFIG_COUNT", "0")
    if not number.isdigit():
        return {}
    return {
        "GIT_CONFIG_COUNT": str(int(number) + 1),
        f"GIT_CONFIG_KEY_{number}": "beads.role",
        f"GIT_CONFIG_VALUE_{number}": "maintainer",
    }


class BdClient:
    """One `bd` on one home."""

    def __init__(
        self,
        home: Path,
        *,
        bd: str = "bd",
        timeout: timedelta = TIMEOUT,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self.bd = bd
        self.timeout = timeout
        self.limit = LIMIT
        self._variables = environment(home, os.environ) if variables is None else variables

    def call(
        self,
        args: Sequence[str],
        *,
        actor: str | None = FLEET,
        variables: Mapping[str, str] | None = None,
        stdin: Stream = DEVNULL,
    ) -> Exited:
        """One call, however it ends. Without an actor bd decides who asks."""
        seconds = self.timeout.total_seconds()
        if not _AT_ONCE.acquire(timeout=2 * seconds):
            raise QueueBusy("too many calls of bd are under way")
        try:
            return capture(
                [self.bd, *_own_flags(actor), *args],
                cwd=self.home,
                env={**self._variables, **(variables or {})},
                timeout=seconds,
                limit=self.limit,
                stdin=stdin,
            )
        finally:
            _AT_ONCE.release()

    def ask(self, args: Sequence[str], *, actor: str = FLEET) -> Any:
        """One call's answer; raises the error that a failure stands for."""
        ended = self.call([args[0], "--json", *args[1:]], actor=actor)
        if ended.code != 0:
            raise bd_output.failure(ended, args[0])
        return bd_output.payload(ended, args[0])

    @property
    def guards(self) -> bool:
        """Whether an update can be tied to the status and assignee that we saw."""
        version = self.version
        return version is not None and version >= GUARDED_UPDATES

    @property
    def version(self) -> Version | None:
        """None if bd does not tell. Raises QueueUnavailable without a bd.

        Asked once for each program file: an upgrade under a running supervisor is noticed.
        """
        program = shutil.which(self.bd, path=self._variables.get("PATH")) or self.bd
        key = (program, stamp_of(program))
        if key not in _VERSIONS:
            ended = self.call(["version"])
            if ended.code != 0:
                raise bd_output.failure(ended, "version")
            _VERSIONS[key] = read_version(ended.out.decode(errors="replace"))
        return _VERSIONS[key]


def _own_flags(actor: str | None) -> list[str]:
    return [
        *(["--readonly"] if asked_by() else []),
        *([] if actor is None else [f"--actor={actor}"]),
    ]


def read_version(text: str) -> Version | None:
    """The version in what bd prints; None: there is none."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def version_warning(version: Version | None) -> str | None:
    """What a person should know about this version before using it for work."""
    if version is None:
        return "bd does not tell its version, so fleet cannot say whether it is a sound one."
    name = ".".join(map(str, version))
    if version < _FIRST_SHARED:
        return (
            f"bd {name} locks its database for one process at a time, so agents and fleet"
            " will fail against each other. Upgrade to 1.3 or later."
        )
    if version in _KNOWN_BAD:
        return f"bd {name} is not safe: {_KNOWN_BAD[version]}. Upgrade to 1.3 or later."
    return None
