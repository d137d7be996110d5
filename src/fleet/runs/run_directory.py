"""The run directory `tasks/<id>/runs/<n>/`: who writes which file, and how each is read back.

The supervisor writes `run.json` and `prompt.md`; the keeper writes the rest, but for `fence`.
Agents run under the same user and can write here, so what is read is checked.
"""

import errno
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal
from uuid import uuid4

import msgspec
from msgspec import Struct, field

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import read_bounded
from fleet.schemas import Base, Policy, Usage

#: No record of a run is longer; what is, was not written by us.
_LONGEST_RECORD = 4 << 20


class ProcessId(Struct, frozen=True, kw_only=True):
    """One process for all time: numbers are used again, this triple is not."""

    pid: int
    #: Clock ticks from boot to the process's start, as the kernel counts them.
    start_ticks: int
    boot_id: str


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the keeper shall start: the content of run.json.

    The environment is not here: it holds secrets, so it goes from process to process and
    never to the disk.
    """

    #: Marks every process of the run, through FLEET_RUN_ID. Unique across homes.
    id: str = field(default_factory=lambda: uuid4().hex)
    argv: tuple[str, ...]
    cwd: str
    #: A file for the agent's stdin, relative to the run directory. None: /dev/null.
    stdin: str | None = None
    #: Seconds from a polite stop to the end of patience.
    grace: float = 10.0
    #: Seconds that the agent may live; the keeper ends it by itself, whoever looks on. None: for
    #: ever.
    time_limit: float | None = None
    #: Seconds for what the agent left behind, from SIGTERM to SIGKILL.
    sweep_grace: float = 0.5
    #: Soft and hard limits by name: {"NOFILE": (4096, 4096)}.
    rlimits: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    #: How gladly the kernel kills the agent when memory runs out; None leaves it as it is.
    oom_score_adj: int | None = None
    #: For whoever takes the run over, and nothing to the keeper: what reads its stream, and a
    #: fingerprint of the artifacts as the run found them.
    coder: str = ""
    model: str = ""
    account: str = ""
    #: What logs its agent in, with a mark in the place of a secret.
    login: dict[str, str] = field(default_factory=dict[str, str])
    artifacts: str = ""
    #: The session that it carries on; what that had used before, and how long its own record was.
    resumes: str = ""
    before: Usage = Usage()
    second_from: int = 0
    #: The rules that the run is held to, whatever the settings say by now.
    policy: Policy = Policy()
    #: The repository as the run found it; None: its directory is in none.
    base: Base | None = None


class Started(Struct, frozen=True, kw_only=True):
    """The attempt counts: the agent's process exists."""

    keeper: ProcessId
    agent: ProcessId
    at: datetime
    #: The same moment on the machine's monotonic clock, for durations within one boot.
    monotonic: float


class Leftover(Struct, frozen=True, kw_only=True):
    """A process that was still there when the agent had ended."""

    pid: int
    name: str


class SpawnError(Struct, frozen=True, kw_only=True):
    """Why the agent's program never ran."""

    #: How far it came.
    stage: Literal["limits", "stdin", "cwd", "exec"]
    errno: int
    message: str

    @property
    def is_program(self) -> bool:
        """The program is not there, or is none: nothing that another task could help."""
        absent = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR)
        return self.stage == "exec" and self.errno in absent


class Exit(Struct, frozen=True, kw_only=True):
    """How the agent's process tree ended: the content of exit.json."""

    #: One of code and signal is set; or `error` says that nothing ever ran; or the agent itself
    #: is among those in `left`.
    code: int | None = None
    signal: int | None = None
    error: SpawnError | None = None
    #: The stop that the keeper was asked for before the agent ended, or that it came to itself
    #: when the run's time was up.
    stop: Literal["graceful", "now", "timeout"] | None = None
    #: Seconds from the first word to stop until nothing of the tree was left.
    stop_seconds: float | None = None
    started_at: datetime
    ended_at: datetime
    #: The agent's life on the monotonic clock.
    seconds: float
    #: All of the tree, as far as it was waited for.
    cpu_seconds: float = 0.0
    max_rss_bytes: int = 0
    swept: tuple[Leftover, ...] = ()
    #: What could not be killed: another user's, or stuck in the kernel.
    left: tuple[Leftover, ...] = ()


_HINT = "It was changed from outside. Move the run's directory away to go on without it."
_SPEC = JsonRecord(Spec, limit=_LONGEST_RECORD, hint=_HINT)
_STARTED = JsonRecord(Started, limit=_LONGEST_RECORD, hint=_HINT)
_EXIT = JsonRecord(Exit, limit=_LONGEST_RECORD, hint=_HINT)


class Run(Struct, frozen=True):
    """One run by its directory. Making one touches nothing."""

    path: Path

    @property
    def number(self) -> int:
        return int(self.path.name)

    @property
    def task_dir(self) -> Path:
        return self.path.parent.parent

    @property
    def lock(self) -> Path:
        """The task's lock, not the run's: no two runs of a task live at one time."""
        return self.task_dir / "run.lock"

    @property
    def stdout(self) -> Path:
        return self.path / "stdout"

    @property
    def stderr(self) -> Path:
        return self.path / "stderr"

    def spec(self) -> Spec:
        spec = _SPEC.read(self.path / "run.json")
        if spec is None:
            raise InvalidTask(f"{self.path} holds no run.json", hint="The run was never prepared.")
        return spec

    def lock_holder(self) -> "Run | None":
        """The run of this task that the lock is held for, if anyone holds it."""
        name = (read_bounded(self.lock, _LONGEST_RECORD) or b"").strip()
        return Run(self.path.parent / name.decode()) if name.isdigit() else None

    def started(self) -> Started | None:
        return _STARTED.read(self.path / "started")

    def exit(self) -> Exit | None:
        return _EXIT.read(self.path / "exit.json")

    def fenced(self) -> bool:
        return (self.path / "fence").exists()

    def fence(self) -> None:
        """Forbid the run for ever. Only under the lock, or a keeper may slip past."""
        write_atomically(self.path / "fence", b"")


def new_run(
    task_dir: Path, spec: Spec, prompt: bytes | None = None, *, folder: str = "runs"
) -> Run:
    """The task's next run, ready for a keeper.

    A number is taken by making its directory, so two callers never share one; a caller that
    dies half-way leaves a directory without run.json, which is no run. Nothing is forced to the
    disk: a power cut ends the run as well, and what it came to is the keeper's to tell.
    """
    folder = f"{task_dir}/{folder}"
    os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - each run pays for every Path
    number = max(_numbers(folder), default=0) + 1
    while True:
        place = f"{folder}/{number}"
        try:
            os.mkdir(place, 0o700)  # noqa: PTH102
            break
        except FileExistsError:
            number += 1
    if prompt is not None:
        _put(f"{place}/prompt.md", prompt)
    _put(f"{place}/.run.json", msgspec.json.encode(spec))
    os.rename(f"{place}/.run.json", f"{place}/run.json")  # noqa: PTH104
    return Run(Path(place))


def _put(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb", buffering=0) as file:
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def began_at(run: Run) -> datetime | None:
    """When a run's agent began; None if it has not, or its record cannot be read any more."""
    try:
        started = run.started()
    except InvalidTask:
        return None
    return started.at if started else None


def next_number(task_dir: Path) -> int:
    """The number that the task's next run will have. Only for the holder of its lease."""
    return max(_numbers(f"{task_dir}/runs"), default=0) + 1


def all_runs(task_dir: Path) -> list[Run]:
    """The task's prepared runs, oldest first."""
    return list(reversed(list(newest_first(task_dir))))


def latest_run(task_dir: Path) -> Run | None:
    return next(newest_first(task_dir), None)


def newest_first(task_dir: Path, folder: str = "runs") -> Iterator[Run]:
    """The task's prepared runs, latest first."""
    folder = f"{task_dir}/{folder}"
    for number in sorted(_numbers(folder), reverse=True):
        if os.path.exists(f"{folder}/{number}/run.json"):  # noqa: PTH110 - each run pays
            yield Run(Path(f"{folder}/{number}"))


def _numbers(folder: str) -> list[int]:
    try:
        return [int(name) for name in os.listdir(folder) if name.isdecimal()]  # noqa: PTH208
    except FileNotFoundError:
        return []
