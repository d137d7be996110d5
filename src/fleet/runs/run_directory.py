"""The run directory `tasks/<id>/runs/<n>/`: which process writes which file, and how to read them.

The supervisor writes `run.json`, `prompt.md` and `fence`; the keeper writes the rest. Agents run
under the same user and can write here, so everything that is read is checked.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal
from uuid import uuid4

import msgspec
from msgspec import Struct, field

from fleet.errors import InvalidTask
from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import SAFELY, check_directory, read_bounded
from fleet.home import Home
from fleet.schemas import Base, Policy, Usage

#: No record of a run is longer; a longer file was not written by fleet.
_LONGEST_RECORD = 4 << 20
#: Begins the path of a program that a box was to run and that is not there: no program can be.
NOWHERE = f"{os.devnull}/"
#: The most digits of a run's number; a directory with a longer name is no run's.
_LONGEST_NUMBER = 9
_LONGEST_HOST = 1 << 10
#: How listing fails what is no directory of fleet's.
_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)


class ProcessId(Struct, frozen=True, kw_only=True):
    """One process for all time: the system uses numbers again, but not this triple."""

    pid: int
    #: Clock ticks from boot to the process's start, as the kernel counts them.
    start_ticks: int
    boot_id: str


class RunTrace(Struct, frozen=True, kw_only=True):
    """What the spans of a run begin with; the ids follow from this (`runs/trace_ids.py`)."""

    task_created: datetime
    #: When fleet began to prepare the run.
    begun: datetime


class RunSpec(Struct, frozen=True, kw_only=True):
    """What the keeper shall start: the content of run.json.

    Without the environment, which holds secrets: that goes from process to process and never to
    the disk.
    """

    #: The run id, in the environment of every process of the run. Unique across homes.
    id: str = field(default_factory=lambda: uuid4().hex)
    argv: tuple[str, ...]
    cwd: str
    #: A file for the agent's stdin, relative to the run directory. None: /dev/null.
    stdin: str | None = None
    #: Seconds from SIGTERM to SIGKILL when the agent is stopped.
    grace: float = 10.0
    #: Seconds after which the keeper stops the agent, also without a supervisor. None: never.
    time_limit: float | None = None
    #: The keeper stops the agent once the moment in `held_until` has come: the run's lease is one
    #: of a queue that hosts share.
    leased: bool = False
    #: The program may open its own output again, as `echo >/dev/stderr` does: pipes instead of
    #: sockets. Not for an agent, whose output is evidence.
    reopens: bool = False
    #: Seconds from SIGTERM to SIGKILL for processes that the agent left behind.
    sweep_grace: float = 0.5
    #: The agent is in a box: its program is the box's, and the agent has process numbers of its
    #: own below that.
    boxed: bool = False
    #: The keeper ignores the rest, which is for a supervisor that takes the run over: what reads
    #: the run's stream, and a digest of the artifacts when the run began.
    coder: str = ""
    model: str = ""
    account: str = ""
    #: The variables that log the agent in, with a mark in the place of a secret.
    login: dict[str, str] = field(default_factory=dict[str, str])
    artifacts: str = ""
    #: Tokens that the model's context holds, as earlier runs of it reported; 0: none has.
    context_window: int = 0
    #: The session that the run resumes, what that had used before, and how long its record was.
    resumes: str = ""
    before: Usage = Usage()
    second_from: int = 0
    #: The rules that the run is held to, even if the settings have changed since.
    policy: Policy = Policy()
    #: The repository when the run began; None: the directory is in no repository.
    base: Base | None = None
    #: What stands here for the task's directory, where that is on another host.
    project: str = ""
    #: The name of the host that runs it, where hosts share the queue.
    host: str = ""
    #: None: [otel] was off when the run began.
    trace: RunTrace | None = None


class Started(Struct, frozen=True, kw_only=True):
    """The content of `started`: the agent's process exists. Without it the run never began."""

    keeper: ProcessId
    agent: ProcessId
    at: datetime
    #: The same moment on the machine's monotonic clock, for durations within one boot.
    monotonic: float


class Leftover(Struct, frozen=True, kw_only=True):
    """A process that was still alive when the agent had ended."""

    pid: int
    name: str


class SpawnError(Struct, frozen=True, kw_only=True):
    """Why the agent's program never ran."""

    #: The step that failed.
    stage: Literal["start", "stdin", "cwd", "exec"]
    errno: int
    message: str

    @property
    def is_program(self) -> bool:
        """The program is missing or cannot be executed, so every task of this coder fails alike."""
        absent = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR)
        return self.stage == "exec" and self.errno in absent


class Exit(Struct, frozen=True, kw_only=True):
    """How the agent's process tree ended: the content of exit.json."""

    #: One of code and signal is set; or `error` says why the program never ran; or the agent
    #: itself is in `left`.
    code: int | None = None
    signal: int | None = None
    error: SpawnError | None = None
    #: The stop that the keeper was asked for before the agent ended; `timeout` if the keeper
    #: stopped the agent at its time limit, `lease` if its lease was not renewed.
    stop: Literal["graceful", "now", "timeout", "lease"] | None = None
    #: Seconds from the first request to stop until the whole tree had ended.
    stop_seconds: float | None = None
    started_at: datetime
    ended_at: datetime
    #: How long the agent lived, on the monotonic clock.
    seconds: float
    #: Of the whole tree, as far as its processes were waited for.
    cpu_seconds: float = 0.0
    max_rss_bytes: int = 0
    swept: tuple[Leftover, ...] = ()
    #: Processes that could not be killed: another user's, or stuck in the kernel.
    left: tuple[Leftover, ...] = ()
    #: Why output of the agent could not be written when it ended or was to be stopped, as on a full
    #: disk. The machine is to blame, and what the run said is not known.
    short: str = ""


RUN_JSON = "run.json"
#: In the directory of a run that another host made: the id of that host.
HOST = "host"
_HINT = "It was changed from outside. Move the run's directory away to go on without it."
_SPEC = JsonRecord(RunSpec, limit=_LONGEST_RECORD, hint=_HINT)
_STARTED = JsonRecord(Started, limit=_LONGEST_RECORD, hint=_HINT)
_EXIT = JsonRecord(Exit, limit=_LONGEST_RECORD, hint=_HINT)


class Run(Struct, frozen=True, dict=True):
    """One run by directory. Making one touches nothing."""

    path: Path

    @cached_property
    def number(self) -> int:
        return int(self.path.name)

    @cached_property
    def task_dir(self) -> Path:
        return self.path.parent.parent

    @property
    def task_id(self) -> str:
        return self.task_dir.name

    @cached_property
    def home(self) -> Home:
        """The fleet home that the run is in."""
        return Home(self.task_dir.parent.parent)

    @cached_property
    def lock(self) -> Path:
        """The task's lock, not the run's: no two runs of a task live at the same time."""
        return self.task_dir / "run.lock"

    @cached_property
    def stdout(self) -> Path:
        return self.path / "stdout"

    @cached_property
    def stderr(self) -> Path:
        return self.path / "stderr"

    @cached_property
    def spool(self) -> Path:
        """The drop box of the run's agent: the one directory in here that agents may write to."""
        return self.path / "spool"

    @cached_property
    def host(self) -> str:
        """The host that made the run, where the files came from another one; empty: this one."""
        with suppress(InvalidTask):
            return (read_bounded(self.path / HOST, _LONGEST_HOST) or b"").decode().strip()
        return ""

    def spec(self) -> RunSpec:
        spec = _SPEC.read(self.path / "run.json")
        if spec is None:
            raise InvalidTask(f"{self.path} holds no run.json", hint="The run was never prepared.")
        return spec

    def spec_doubt(self) -> str:
        """Why run.json is not believed; empty if fleet wrote it."""
        path = self.path / RUN_JSON
        data = read_bounded(path, _LONGEST_RECORD)
        return seals.doubt(self.task_dir, self.number, path, data or b"")

    def known_spec(self) -> RunSpec | None:
        """The spec; None if run.json is missing or damaged."""
        return _SPEC.read_or_none(self.path / "run.json")

    def lock_holder(self) -> "Run | None":
        """The run of this task that the lock is, or was last, held for; None: the
        lock names none.
        """
        try:
            name = (read_bounded(self.lock, _LONGEST_NUMBER) or b"").strip()
        except InvalidTask:
            return None
        return Run(self.path.parent / name.decode()) if name.isdigit() else None

    def started(self) -> Started | None:
        return _STARTED.read(self.path / "started")

    def exit(self) -> Exit | None:
        return _EXIT.read(self.path / "exit.json")

    def forget_exit(self) -> None:
        """Have the run count as one that was lost, which needs no room on a full disk."""
        (self.path / "exit.json").unlink(missing_ok=True)

    def fenced(self) -> bool:
        return (self.path / "fence").exists()

    def fence(self) -> None:
        """Forbid the run for ever. Only for the holder of the lock, or a keeper may slip past."""
        with suppress(InvalidTask, FileNotFoundError):  # then no keeper finds the run either
            self.check_directories()
            write_atomically(self.path / "fence", b"")

    def check_directories(self) -> None:
        """Raise InvalidTask where the run would be written through a link, or to nowhere."""
        for place in (self.task_dir, self.path.parent, self.path):
            if not check_directory(place):
                raise InvalidTask(f"{place} is gone", hint="The records went with it.")


def check_task_directory(task_dir: Path) -> None:
    """Raise InvalidTask where a task's directories are not as fleet made them."""
    if check_directory(task_dir):
        check_directory(task_dir / "runs")


def new_run(
    task_dir: Path, spec: RunSpec, prompt: bytes | None = None, *, folder: str = "runs"
) -> Run:
    """The task's next run, ready for a keeper."""
    run = reserve_run(task_dir, folder=folder)
    write_run(run, spec, prompt)
    return run


def reserve_run(task_dir: Path, *, folder: str = "runs", at_least: int = 1) -> Run:
    """The directory of the task's next run, without run.json, so not yet a run.

    `at_least`: runs with lower numbers may have been on other hosts.

    Making the directory takes the number, so two callers never share one.
    """
    folder = f"{task_dir}/{folder}"
    if not check_directory(folder):
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - each run pays for every Path
    number = max(max(_numbers(folder), default=0) + 1, at_least)
    while True:
        place = f"{folder}/{number}"
        try:
            os.mkdir(place, 0o700)  # noqa: PTH102
            break
        except FileExistsError:
            number += 1
    return Run(Path(place))


def write_run(run: Run, spec: RunSpec, prompt: bytes | None = None) -> None:
    """Make a reserved directory a run that a keeper can start.

    Nothing is synced to the disk: a power cut ends the run as well, and the keeper's records tell
    how the run ended.
    """
    place = str(run.path)
    if prompt is not None:
        _put(f"{place}/prompt.md", prompt)
    data = encoded_spec(spec)
    seals.seal(run.task_dir, run.number, {RUN_JSON: data})
    _put(f"{place}/.run.json", data)
    os.rename(f"{place}/.run.json", f"{place}/run.json")  # noqa: PTH104


def encoded_spec(spec: RunSpec) -> bytes:
    return msgspec.json.encode(spec)


def _put(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFELY, 0o600)
    with os.fdopen(fd, "wb", buffering=0) as file:
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def began_at(run: Run) -> datetime | None:
    """When a run's agent began; None if not begun, or the record is damaged."""
    try:
        started = run.started()
    except InvalidTask:
        return None
    return started.at if started else None


def next_number(task_dir: Path, at_least: int = 1) -> int:
    """The number that the task's next run will have. Only for the holder of its lease."""
    return max(max(_numbers(f"{task_dir}/runs"), default=0) + 1, at_least)


def all_runs(task_dir: Path) -> list[Run]:
    """The task's prepared runs, oldest first."""
    return list(reversed(list(newest_first(task_dir))))


def latest_run(task_dir: Path) -> Run | None:
    return next(newest_first(task_dir), None)


def newest_first(
    task_dir: Path, folder: str = "runs", *, before: int | None = None
) -> Iterator[Run]:
    """The task's prepared runs, latest first; only those with a number below `before`."""
    if before == 1:
        return  # most tasks have one run, and none of them needs to be looked for
    folder = f"{task_dir}/{folder}"
    for number in sorted(_numbers(folder), reverse=True):
        if before is not None and number >= before:
            continue
        place = f"{folder}/{number}"
        # A record that was deleted, or is a link to nowhere, makes no run unseen that was started.
        if os.path.lexists(f"{place}/run.json") or os.path.lexists(f"{place}/started"):
            yield Run(Path(place))


def _numbers(folder: str) -> list[int]:
    """The numbers of the runs in a folder. What is no directory holds none: `new_run` says so."""
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise  # the machine is short of something, which says nothing about the runs
        return []
    return [int(name) for name in names if name.isdecimal() and len(name) <= _LONGEST_NUMBER]
