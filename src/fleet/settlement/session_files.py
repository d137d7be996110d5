"""The session files of a task: taken over from where an agent wrote them, given to the next run.

A run in a box keeps its session in its own state directory. Once the run is over the session's
files are taken over into `tasks/<id>/sessions`, which no box can write, and the directory is
deleted. What is taken over was written by an agent: plain files of the user, a bounded number of
bytes, and records of JSON lines only. A kill at any step loses nothing: the directory stays until
all is taken over.
"""

import errno
import fcntl
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from fleet import coders
from fleet.coders.base import Coder
from fleet.errors import FleetError, InvalidTask
from fleet.files.agent_place import AgentEntry, AgentPlace
from fleet.git.checkout.fresh_checkout import remove_tree
from fleet.home import Home
from fleet.runs.cli_state.state_directory import FOLDER as STATE
from fleet.runs.cli_state.state_directory import state_directory
from fleet.runs.outcome_history import believed_ending
from fleet.runs.run_directory import Run, newest_first
from fleet.schemas import typed

FOLDER = "sessions"
#: A larger session is not taken over, since the loop may wait for the copy; the task starts afresh.
_LARGEST = 128 << 20
_MOST_FILES = 2000
_CHUNK = 1 << 20
#: No line of a record is longer.
_LONGEST_LINE = 32 << 20


class SessionFiles(Struct, frozen=True):
    """The files of one session below a place, its record first."""

    place: AgentPlace
    entries: tuple[AgentEntry, ...]

    def copy_to(self, target: AgentPlace) -> None:
        """Copy the files to the same names below another place; the record last, each whole or not
        at all. Raises InvalidTask where something else stands in the way, FileNotFoundError where
        one is gone, OSError.
        """
        left = _LARGEST
        for entry in reversed(self.entries):
            if not self.place.copy(entry.name, target, entry.name, left):
                raise FileNotFoundError(errno.ENOENT, "gone", f"{self.place.shown}/{entry.name}")
            left -= entry.size


def kept_sessions(task_dir: Path, coder: Coder | type[Coder]) -> AgentPlace:
    """Where the sessions of a task's boxed runs are kept."""
    return AgentPlace(task_dir / FOLDER / coder.name)


def find_session(
    place: AgentPlace, coder: Coder | type[Coder], session_id: str
) -> SessionFiles | None:
    """The files of a session below a CLI's state; None: there is no record that can be used."""
    found: dict[str, AgentEntry] = {}
    try:
        for pattern in coder.state_layout.session_patterns(session_id) if session_id else ():
            found |= {entry.name: entry for entry in place.find(pattern)}
            if not found:
                break  # without its record there is no session
    except OSError:
        return None
    entries = tuple(found.values())
    if not 0 < len(entries) <= _MOST_FILES or sum(entry.size for entry in entries) > _LARGEST:
        return None
    if not all(entry.owner == os.getuid() and _is_sound(place, entry) for entry in entries):
        return None
    return SessionFiles(place, entries)


def keep_sessions(home: Home, task_id: str, *, all_over: bool = False) -> list[str]:
    """Take over what the task's boxed runs left of their sessions, and delete their state.

    Only of runs that have an ending; `all_over`: the others are over too, and their sessions are
    not gone on with. Returns a sentence for each session that was lost. Raises OSError.
    """
    reports: list[str] = []
    for run in sorted(newest_first(home.task(task_id)), key=lambda each: each.number):
        with _locked(state_directory(run)) as is_there:
            if not is_there:
                continue
            ending = believed_ending(run)
            if ending is None and not all_over:
                continue
            if ending is not None and ending.session_id:
                reports += _keep(home, run, ending.coder, ending.session_id)
            drop_state(run)
    return reports


def drop_state(run: Run) -> None:
    """Delete a run's state directory with all that is in it."""
    with suppress(FileNotFoundError):
        remove_tree(state_directory(run))


def left_states(home: Home) -> Iterator[str]:
    """The tasks of which a run still has its state directory."""
    for task in _names(home.tasks):
        runs = home.tasks / task / "runs"
        if any(os.path.lexists(runs / name / STATE) for name in _names(runs)):
            yield task


def _keep(home: Home, run: Run, coder: str, session_id: str) -> Iterator[str]:
    try:
        kind = coders.find(coder, home.path)
        found = find_session(AgentPlace(state_directory(run)), kind, session_id)
        if found is not None:
            found.copy_to(kept_sessions(run.task_dir, kind))
    except FleetError as error:
        yield f"{run.task_id}: the session of run {run.number} is not kept: {error.message}"


@contextmanager
def _locked(state: Path) -> Generator[bool]:
    """Whether a state directory is there, while no one else of fleet takes it over."""
    try:
        fd = os.open(state, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        yield False
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield state.is_dir()
    finally:
        os.close(fd)


def _is_sound(place: AgentPlace, entry: AgentEntry) -> bool:
    """A record holds lines of JSON; the last may be cut off, as the CLI was killed."""
    if not entry.name.endswith(".jsonl"):
        return True
    try:
        found = place.open(entry.name)
    except InvalidTask:
        return False
    if found is None:
        return False
    fd, _ = found
    try:
        rest, left = b"", _LARGEST
        while left > 0 and (chunk := os.read(fd, _CHUNK)):
            left -= len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LONGEST_LINE or not all(map(_is_json, lines)):
                return False
    finally:
        os.close(fd)
    return True


def _is_json(line: bytes) -> bool:
    try:
        typed.decode(line, msgspec.Raw)
    except (ValueError, RecursionError):
        return not line.strip()
    return True


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []
