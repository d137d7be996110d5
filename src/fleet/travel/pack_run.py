"""What of a run, and of the task, other hosts get: which files, in which order.

The order is that of their worth: where a run has more than the queue takes, the agent's raw output
is cut first. What an agent wrote is read with care: no link is followed.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.agent_place import AgentPlace
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import open_regular, read_bounded
from fleet.forge import pull_request_json
from fleet.git.snapshot_names import DIFF
from fleet.home import clone_record, landing_json, messages
from fleet.runs import agent_claim, event_log, outcome_history, receipt_json, stop_reason
from fleet.runs.questions import asked_json, questions_file
from fleet.runs.run_directory import RUN_JSON, Run

LOG = "log.jsonl"
ARTIFACTS = "artifacts"
#: Lines of the task's log that hosts noted after a run was settled.
LATER = "later"
#: In the task's directory: held while files of other hosts come, or late lines go.
TRAVEL_LOCK = "travel.lock"
#: What is kept under these names belongs to one run, and is added to the task's file elsewhere.
ADDED = (event_log.FILE, LOG)
#: Records of a run that a later supervisor acts on.
SEALED = (
    RUN_JSON, agent_claim.FILE, stop_reason.FILE, receipt_json.FILE, outcome_history.FILE,
)  # fmt: skip
#: How the task's clone was made, by its name among the files of a run.
CLONE = clone_record.FILE
#: Files of the task itself that are taken over as they are, beside messages and artifacts; those
#: that a later supervisor acts on.
SEALED_OF_TASK = (outcome_history.FORGIVEN, asked_json.FILE, pull_request_json.FILE)
OF_TASK = (*SEALED_OF_TASK, outcome_history.FAILURES)
_OF_RUN = (*SEALED, "started", "exit.json", DIFF)
_OUTPUT = ("prompt.md", "stderr", "stdout")
#: Artifacts of an agent that travel: the most files, and the most bytes of each and of all.
_MOST_FILES, LARGEST_FILE, _MOST_BYTES = 500, 4 << 20, 16 << 20
#: Questions and answers of a living run travel up to this size: its agent may write them anew each
#: second.
_LARGEST_ASKED = 256 << 10
_CHUNK = 1 << 20
_SENT = ".sent"


class SentSoFar(Struct, frozen=True, kw_only=True):
    """How far the files that grow over all runs of a task are known to the queue."""

    events: int = 0
    log: int = 0


_RECORD = JsonRecord(SentSoFar)
File = tuple[str, Iterable[bytes]]


def files_of_run(run: Run) -> Iterator[File]:
    """The files of one run by their names, most important first."""
    before = sent_so_far(run.task_dir)
    for name in _OF_RUN:
        if os.path.lexists(run.path / name):
            yield name, _read(run.path / name)
    clone = run.task_dir / clone_record.FOLDER / CLONE
    if clone.exists():
        yield CLONE, _read(clone)
    own = b'{"run":%d,' % run.number
    yield event_log.FILE, _lines(run.task_dir / event_log.FILE, before.events, own)
    yield LOG, _read(run.task_dir / LOG, before.log)
    for name in _OUTPUT:
        if os.path.lexists(run.path / name):
            yield name, _read(run.path / name)


def files_of_task(task_dir: Path) -> Iterator[File]:
    """The task's own files, which the next run goes on with."""
    for name in (landing_json.FILE, *OF_TASK):
        if os.path.lexists(task_dir / name):
            yield name, _read(task_dir / name)
    for folder in (messages.FOLDER, LATER, ARTIFACTS):
        yield from _below(task_dir, folder)


def words_of_people(task_dir: Path) -> Iterator[File]:
    """What people told the agents of the task, and answered them."""
    yield from _below(task_dir, messages.FOLDER)
    with suppress(InvalidTask):  # too large, or no file
        if (asked := read_bounded(task_dir / questions_file.FILE, _LARGEST_ASKED)) is not None:
            yield str(questions_file.FILE), [asked]


def words_stamp(task_dir: Path) -> tuple[int, int]:
    """Values that change with what people told the agents, and with questions and answers."""
    try:
        asked = os.lstat(task_dir / questions_file.FILE).st_mtime_ns
    except OSError:
        asked = 0
    return messages.stamp(task_dir), asked


def sent_so_far(task_dir: Path) -> SentSoFar:
    return _RECORD.read_or_none(task_dir / _SENT) or SentSoFar()


def note_sent(task_dir: Path) -> None:
    """All that the growing files hold now is known to the queue, or came from there."""
    events, log = (_size(task_dir / name) for name in ADDED)
    _RECORD.write(task_dir / _SENT, SentSoFar(events=events, log=log))


def new_log_lines(task_dir: Path) -> tuple[int, bytes]:
    """The whole lines of the task's log that the queue does not know, and where they begin."""
    start = sent_so_far(task_dir).log
    data = b"".join(_read(task_dir / LOG, start))
    return start, data[: data.rfind(b"\n") + 1]


def note_log_sent(task_dir: Path, end: int | None = None) -> None:
    """The log is known to the queue up to a place; without one, all of it."""
    known = sent_so_far(task_dir)
    end = _size(task_dir / LOG) if end is None else end
    _RECORD.write(task_dir / _SENT, SentSoFar(events=known.events, log=end))


def _below(task_dir: Path, folder: str) -> Iterator[File]:
    """The plain files below a folder, by their path from the task's directory on."""
    left, count = _MOST_BYTES, 0
    place = AgentPlace(task_dir)
    for entry in sorted(place.walk(folder), key=lambda each: each.name):
        if count >= _MOST_FILES:
            return
        try:
            data = place.read(entry.name, min(LARGEST_FILE, left))
        except InvalidTask:
            continue  # too large, or no file
        if data is not None:
            left, count = left - len(data), count + 1
            yield entry.name, [data]


def _read(path: Path, start: int = 0) -> Iterator[bytes]:
    """The bytes of a file from a place on; none if an agent put something else there."""
    try:
        fd = open_regular(path)
    except InvalidTask:
        return
    if fd is None:
        return
    with os.fdopen(fd, "rb") as file:
        file.seek(start)
        while data := file.read(_CHUNK):
            yield data


def _lines(path: Path, start: int, prefix: bytes) -> Iterator[bytes]:
    """The whole lines from a place on that begin so."""
    rest = b""
    for chunk in _read(path, start):
        *whole, rest = (rest + chunk).split(b"\n")
        kept = [line + b"\n" for line in whole if line.startswith(prefix)]
        if kept:
            yield b"".join(kept)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
