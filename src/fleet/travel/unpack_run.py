"""What other hosts sent of a task is taken over: the files of runs come to the places that they
have in every home, so that every reader of a task reads them like those of a run here.

A record of another host is believed, and sealed here anew: only a host that holds the task's lease
can have stored it, and agents reach no queue. Such a record is believed about what
happened. What a host is to execute (command line, login, policy) is never taken from it.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import structs

from fleet.errors import FleetError, InvalidTask, QueueError
from fleet.files import seals
from fleet.files.agent_place import AgentPlace
from fleet.files.file_lock import exclusive
from fleet.git import repository
from fleet.git.repository import Repository
from fleet.home import Home, landing_json
from fleet.home.clone_record import CloneRecord
from fleet.home.landing_json import Landing
from fleet.home.task_json import local_settings
from fleet.queue.sql.travel.run_files import LIST, OF_TASK, SentFile, SentRun
from fleet.runs import outcome_history
from fleet.runs.run_directory import HOST, RUN_JSON, Run, RunSpec, latest_run
from fleet.schemas import Base, Policy, Task, typed
from fleet.travel import in_step, pack_run
from fleet.travel.add_lines import add_lines
from fleet.travel.pack_run import (
    ADDED,
    ARTIFACTS,
    CLONE,
    LARGEST_FILE,
    LATER,
    SEALED,
    SEALED_OF_TASK,
    TRAVEL_LOCK,
    note_sent,
)
from fleet.travel.send_later import take_later_lines
from fleet.travel.shared_queue import SharedQueue

#: In the task's own directory: files that may be written there.
_OF_TASK = (landing_json.FILE, *pack_run.OF_TASK)
_FOLDERS = ("tells", ARTIFACTS)


def unpack_runs(shared: SharedQueue, home: Home, task_id: str, *, me: str) -> tuple[int, ...]:
    """Bring what other hosts sent of a task; the numbers of the runs that were not here before.

    No run of the task may be alive here.

    Raises QueueError, and OSError of a full disk: the same again goes on.
    """
    if not shared.files.stored(task_id):
        return ()
    folder = home.task(task_id)
    folder.mkdir(mode=0o700, exist_ok=True)  # a task that was made on another host
    with exclusive(folder / TRAVEL_LOCK):
        return _unpack_runs(shared, home, task_id, me)


def _unpack_runs(shared: SharedQueue, home: Home, task_id: str, me: str) -> tuple[int, ...]:
    stored = shared.files.stored(task_id)
    numbers = sorted({each.run for each in stored if each.path == LIST and each.run != OF_TASK})
    taken: list[int] = []
    for number in numbers:
        run = Run(home.task(task_id) / "runs" / str(number))
        if run.host:
            _add_lines(run)  # an earlier process may not have come to that
            continue
        listed = shared.files.list_of(task_id, number)
        if listed is None or listed.host == me:
            continue
        _take_run(shared, home, task_id, number, listed)
        taken.append(number)
    wanted = {each.path for each in stored if each.run == OF_TASK}
    if not _may_live(home.task(task_id)):
        known = in_step.agreed(home.task(task_id))
        _take_task_files(shared, home, task_id, wanted, me, known or {})
        if wanted and not _is_unsent(home.task(task_id), numbers):
            _remove_others(home.task(task_id), wanted, known)
    return tuple(taken)


def _is_unsent(task_dir: Path, sent: Sequence[int]) -> bool:
    """The latest run is this host's, and the queue does not know what it left."""
    run = latest_run(task_dir)
    return run is not None and not run.host and run.number not in sent


def _may_live(task_dir: Path) -> bool:
    """The latest run is this host's and has no ending: the run's files are newer
    than the queue's.
    """
    run = latest_run(task_dir)
    return run is not None and not run.host and outcome_history.believed_ending(run) is None


def _take_run(shared: SharedQueue, home: Home, task_id: str, number: int, listed: SentRun) -> None:
    """Make the directory of a run that another host made, in one step."""
    task_dir = home.task(task_id)
    place = task_dir / "runs" / str(number)
    for left in place.parent.glob(f".{number}.*"):  # of a process that was killed over it
        shutil.rmtree(left)
    making = place.with_name(f".{number}.{os.urandom(6).hex()}")
    making.mkdir(mode=0o700, parents=True)
    try:
        sealed: dict[str, bytes] = {}
        for file in listed.files:
            name = _plain_name(file.path, task_id)
            if name not in SEALED:
                _bring(shared, task_id, number, file, making / name)
                continue
            data = _whole(shared, task_id, number, file)
            sealed[name] = _own_spec(data, home, task_id) if name == RUN_JSON else data
            (making / name).write_bytes(sealed[name])
        (making / HOST).write_text(f"{listed.host}\n", encoding="utf-8")
        seals.seal(task_dir, number, sealed)
        _put_aside(place)
        making.rename(place)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    _add_lines(Run(place))


def _add_lines(run: Run) -> None:
    """Add what other hosts wrote of the run to the files that grow over all runs of the task."""
    added = [add_lines(run.path, run.task_dir / name) for name in ADDED]
    if any(added):
        note_sent(run.task_dir)


def _plain_name(name: str, task_id: str) -> str:
    """A name that leads nowhere else. Raises QueueError."""
    if "/" in name or name.startswith("."):
        raise QueueError(f"a run of {task_id} holds {name!r}, which is no file of a run")
    return name


def _put_aside(place: Path) -> None:
    """A run of this host under the same number was never settled: another host's was."""
    if os.path.lexists(place):
        place.rename(place.with_name(f"{place.name}.lost.{os.urandom(3).hex()}"))


def _whole(shared: SharedQueue, task_id: str, number: int, file: SentFile) -> bytes:
    """A record, which is small."""
    data = shared.files.read(task_id, number, file.path)
    if data is None or hashlib.sha256(data).hexdigest() != file.sha256:
        raise _damaged(task_id, number, file)
    return data


def _bring(shared: SharedQueue, task_id: str, number: int, file: SentFile, place: Path) -> None:
    """Write a file here, part by part: a stream may be larger than the memory."""
    digest = hashlib.sha256()
    with place.open("xb") as here:
        for part in shared.files.parts(task_id, number, file.path):
            digest.update(part)
            here.write(part)
    if digest.hexdigest() != file.sha256:
        raise _damaged(task_id, number, file)


def _damaged(task_id: str, number: int, file: SentFile) -> QueueError:
    return QueueError(f"{file.path} of run {number} of {task_id} is damaged in the queue")


def _own_spec(data: bytes, home: Home, task_id: str) -> bytes:
    """run.json of another host, without what this one could be led to execute or to read."""
    try:
        spec = typed.decode(data, RunSpec)
    except msgspec.DecodeError as error:
        raise QueueError(f"run.json of {task_id} in the queue is damaged: {error}") from None
    base = None
    if spec.base is not None and spec.base.head:
        # The task's first run began at a commit: here that is one of the clone that is made of it.
        place = os.path.realpath(home.clone(task_id))
        dot = f"{place}/.git"
        base = Base(root=place, git_dir=dot, common_dir=dot, snapshot=spec.base.head)
    kept = structs.replace(
        spec,
        argv=(),
        login={},
        stdin=None,
        cwd=str(home.clone(task_id)),
        policy=Policy(),
        base=base,
    )
    return msgspec.json.encode(kept)


def clone_of(run: Run) -> CloneRecord | None:
    """How the task's clone was made on the host of a run; None: no clone."""
    try:
        return typed.decode((run.path / CLONE).read_bytes(), CloneRecord)
    except (OSError, msgspec.DecodeError):
        return None


def _take_task_files(
    shared: SharedQueue, home: Home, task_id: str, wanted: set[str], me: str, known: in_step.Agreed
) -> None:
    """Bring the task's own files from the queue. What a person edited in an artifact here since
    `known` was agreed on stays.
    """
    task_dir = home.task(task_id)
    place = AgentPlace(task_dir)
    common: dict[str, in_step.AgreedBytes] = {}
    for path in sorted(wanted):
        _check_place(task_dir, path)
        data = shared.files.read(task_id, OF_TASK, path)
        if data is None:
            continue
        if path.startswith(f"{ARTIFACTS}/"):
            common[path] = in_step.content(data)
            data = _with_edits(place, path, data, known.get(path))
        if _is_there(place, path, data):
            continue
        if path == landing_json.FILE:
            continue  # `take_landing` knows which host it is for
        if path.startswith(f"{LATER}/"):
            take_later_lines(home, task_id, path, data, me=me)
            continue
        if path in SEALED_OF_TASK:
            seals.seal(task_dir, seals.OF_TASK, {path: data})
        if (found := place.look(path)) is not None and found.is_directory:
            place.put_aside(path)
        place.write(path, data, durable=False)
    if common:
        in_step.note(task_dir, common)


def _with_edits(
    place: AgentPlace, path: str, data: bytes, known: in_step.AgreedBytes | None
) -> bytes:
    """The queue's copy of an artifact, with what was edited here since both were the same."""
    try:
        here = place.read(path, LARGEST_FILE)
    except InvalidTask:  # a link, or too large to travel
        return data
    return data if here is None else in_step.merged(here, data, known)


def _remove_others(task_dir: Path, wanted: set[str], known: in_step.Agreed | None) -> None:
    """Remove the messages and artifacts that the queue lacks: a run elsewhere removed them. An
    artifact that the queue never had is a person's and stays.
    """
    place = AgentPlace(task_dir)
    for folder in _FOLDERS:
        for entry in place.walk(folder):
            is_new = folder == ARTIFACTS and known is not None and entry.name not in known
            if entry.name not in wanted and not is_new:
                with suppress(InvalidTask):  # a directory on the way became something else
                    place.remove(entry.name)


def take_landing(shared: SharedQueue, task_id: str, repo: Repository) -> Landing | None:
    """The landing of a task in the queue, for work in this repository of this host."""
    data = shared.files.read(task_id, OF_TASK, landing_json.FILE)
    if data is None:
        return None
    return structs.replace(_decoded(task_id, data), repository=repo.root)


def _decoded(task_id: str, data: bytes) -> Landing:
    try:
        return typed.decode(data, Landing)
    except msgspec.DecodeError as error:
        raise FleetError(f"the landing of {task_id} in the queue is damaged: {error}") from None


def take_sent_back(shared: SharedQueue, home: Home, task: Task) -> None:
    """Have the landing that another host's lander sent back: the next run is told why, and merges
    what landed since. Raises FleetError and OSError.
    """
    data = shared.files.read(task.id, OF_TASK, landing_json.FILE)
    cwd = local_settings(home, task).cwd
    if data is None or cwd is None:
        return
    landing, known = _decoded(task.id, data), landing_json.believed(home, task.id)
    run = Run(home.task(task.id) / "runs" / str(landing.run))
    is_known = known is not None and not known.host and known.run >= landing.run
    if is_known or not landing.is_back or not run.host:
        return
    repo = repository.find(cwd)
    root = repo.root if repo is not None else cwd
    # The candidate comes with the run's work; the merge is begun in this host's own clone.
    own = structs.replace(landing, repository=root, host="", merge=None)
    landing_json.write(home, task.id, own)


def _check_place(task_dir: Path, path: str) -> None:
    """Raise QueueError for a path that is of no file of the task, FleetError for a link above."""
    parts = PurePosixPath(path).parts
    known = path in _OF_TASK or (len(parts) > 1 and parts[0] in (*_FOLDERS, LATER))
    if not known or ".." in parts or path.startswith("/"):
        raise QueueError(f"the queue holds {path!r} for {task_dir.name}: no file of a task")
    place = task_dir
    for part in parts[:-1]:
        place = place / part
        if place.is_symlink():
            raise FleetError(f"{place} is a link; move it away to go on")


def _is_there(place: AgentPlace, path: str, data: bytes) -> bool:
    try:
        return place.read(path, len(data)) == data
    except (InvalidTask, OSError):
        return False
