"""One run's processes, seen from the supervisor: start a keeper, adopt one, stop one, ask for the
state.

All state is in the run directory and the process table, none in memory.
"""

import importlib.util
import math
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.files.file_lock import run_locked, shared
from fleet.files.safe_read import SAFELY
from fleet.processes import keeper, process_identity
from fleet.runs import stop_reason
from fleet.runs.run_directory import Exit, ProcessId, Run, Started
from fleet.runs.run_id import RunId, mark_of
from fleet.schemas import Outcome

#: Seconds to wait for steps that take milliseconds on a healthy machine.
PATIENCE = 2.0
_PAUSE = 0.005
#: Signals that a keeper begins with the default handlers of.
_DEFAULTS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


class Running(Struct, frozen=True, tag=True):
    """The lock is held for this run."""

    #: None until the keeper has written that record, and where the record is damaged.
    started: Started | None
    #: The process that proved to be the run's keeper; None: none was looked for, or found.
    keeper: ProcessId | None = None


class Ended(Struct, frozen=True, tag=True):
    """The keeper saw the whole tree end, and wrote exit.json."""

    exit: Exit


class Vanished(Struct, frozen=True, tag=True):
    """The agent had started, and died with the keeper. No process of the run lives, or will."""

    #: None where the records of the run cannot be read; `why` says what is wrong with them.
    started: Started | None
    why: str = ""


class NeverStarted(Struct, frozen=True, tag=True):
    """No agent ever ran, and none will: a keeper that starts late finds the fence."""


class Orphaned(Struct, frozen=True, tag=True):
    """The keeper is dead, and these processes cannot be killed; no run may start meanwhile."""

    survivors: tuple[ProcessId, ...]


KeptState = Running | Ended | Vanished | NeverStarted | Orphaned


class Busy(Struct, frozen=True, tag=True):
    """Nothing was started: this run of the task lives, or has processes that cannot be killed."""

    holder: Run | None


class Keeper:
    """A live keeper to wait for, started by this supervisor or adopted."""

    def __init__(self, pid: int, fd: int | None, who: ProcessId | None = None) -> None:
        """`who` may be left out for a child that is not reaped, whose number is not used again."""
        self._pid, self._fd, self._who = pid, fd, who
        self._reaped = False
        #: A signal ended this child before its time, so that it wrote no exit record.
        self.was_killed = False

    @property
    def who(self) -> ProcessId:
        """The process. One that had ended before this was first asked is like no other."""
        if self._who is None:
            found = None if self._reaped else process_identity.identify(self._pid)
            self._who = found or ProcessId(pid=self._pid, start_ticks=0, boot_id="")
        return self._who

    def fileno(self) -> int | None:
        """Readable once the keeper has ended; None on systems without pidfd."""
        return self._fd

    def ended(self) -> bool:
        """True once the keeper has ended. This reaps a child, so ask until True."""
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:  # adopted, or reaped before
            return self._reaped or not process_identity.alive(self.who)
        if pid == self._pid:
            self._reaped, self.was_killed = True, os.WIFSIGNALED(status)
        return self._reaped

    def wait(self, seconds: float) -> bool:
        """Sleep until the keeper has ended (True) or the time is over (False)."""
        end = time.monotonic() + seconds
        while not self.ended():
            left = end - time.monotonic()
            if left <= 0:
                return False
            if self._fd is None:
                time.sleep(min(_PAUSE, left))
            else:
                poller = select.poll()  # select() itself fails on a descriptor above 1023
                poller.register(self._fd, select.POLLIN)
                poller.poll(math.ceil(left * 1000))
        return True

    def close(self) -> None:
        """Stop waiting. The keeper itself is not touched."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def start_keeper(
    run: Run,
    env: Mapping[str, str],
    program: Path | None = None,
    *,
    mark: str = "",
    moves: Path | None = None,
) -> Keeper | Busy:
    """Start the run. The lock is taken here and handed down, so that it is never free in between.

    `env` is the environment of keeper and agent. `program` is a copy of the keeper that starts
    faster than the module beside this one. `mark` is the run's id, if the caller has just written
    its record. `moves` is the lock that a boxed run waits for: no checkout moves while it starts.
    """
    with shared(moves) if moves is not None else nullcontext():
        return _start(run, env, program, mark)


def _start(run: Run, env: Mapping[str, str], program: Path | None, mark: str) -> Keeper | Busy:
    chosen = str(program or _program())
    marked = {**env, process_identity.MARK: mark or mark_of(run)}
    if (keeper := _try_start(run, marked, chosen)) is not None:
        return keeper
    holder = run.lock_holder()
    if _free(run, holder):
        keeper = _try_start(run, marked, chosen)
    return keeper or Busy(holder)


def hold_until(run: Run, moment: float) -> None:
    """Tell the keeper of a leased run when to stop the agent, on the clock that counts sleep.

    Written in place: a full disk takes that too.
    """
    flags = os.O_WRONLY | os.O_CREAT | SAFELY
    fd = os.open(run.path / "held_until", flags, 0o600)
    try:
        os.pwrite(fd, f"{moment:020.3f}".encode(), 0)
    finally:
        os.close(fd)


def _free(run: Run, holder: Run | None) -> bool:
    """Kill what a dead keeper left of an earlier run, which holds the lock; False: something is
    left.
    """
    try:
        if holder is not None:
            return not isinstance(state_of(holder), Running | Orphaned)
    except InvalidTask:
        pass  # the run's records are damaged: its processes are found by their marks
    own = RunId.parse(mark_of(run))
    end = time.monotonic() + PATIENCE
    while own is not None and time.monotonic() < end:
        found = process_identity.bearers(f"{own.owner}.{own.task}.")
        if not kill_trees(
            [row.who for mark, rows in found.items() if mark != str(own) for row in rows]
        ):
            return True
        time.sleep(_PAUSE)
    return False


def _try_start(run: Run, env: Mapping[str, str], program: str) -> Keeper | None:
    with run_locked(run.task_dir) as lock:
        if lock is None:
            return None
        lock.write_holder(run.path.name)
        pid = _spawn(run, env, lock.fd, program)
        lock.hand_down()
    # A child that is not reaped keeps its number, even if it has ended by now.
    return Keeper(pid, process_identity.open_pidfd(pid))


def _spawn(run: Run, env: Mapping[str, str], lock: int, program: str) -> int:
    argv = [sys.executable, "-I", "-S", program, str(run.path), str(keeper.LOCK_FD)]
    nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    try:
        return os.posix_spawn(
            sys.executable,
            argv,
            env,
            file_actions=[*nowhere, (os.POSIX_SPAWN_DUP2, lock, keeper.LOCK_FD)],
            setsid=sys.platform == "linux",  # elsewhere the keeper does so, a little later
            setsigmask=(),
            setsigdef=_DEFAULTS,
        )
    except OSError as error:
        raise FleetError(
            f"no keeper can be started for {run.path}: {error.strerror}",
            hint="The machine is out of processes or memory, or the environment is too large.",
        ) from error


def _program() -> str:
    """The keeper's bytecode if fresh: compiling the source would add to every start."""
    source = Path(keeper.__file__)
    cached = Path(importlib.util.cache_from_source(source))
    about = source.stat()
    # As the import system does: compare the time and size of the source that it was made from.
    fresh = struct.pack(
        "<4sIII", importlib.util.MAGIC_NUMBER, 0, int(about.st_mtime), about.st_size
    )
    try:
        with cached.open("rb") as file:
            return str(cached if file.read(len(fresh)) == fresh else source)
    except OSError:
        return str(source)


def find_keeper(who: ProcessId) -> Keeper | None:
    """The keeper of a run that another supervisor started; None if the keeper has ended."""
    fd = process_identity.pidfd(who)
    if fd is None and not process_identity.alive(who):
        return None
    return Keeper(who.pid, fd, who)


def keeper_of(run: Run) -> ProcessId | None:
    """The run's living keeper, proved by the task's lock; None: there is none.

    `started` only says where to look first: an agent could have written it, and a process that it
    names is a stranger unless that process holds the lock.
    """
    started = _started(run)
    if started is not None and _is_keeper(run, started.keeper):
        return started.keeper
    if not process_identity.may_be_locked(run.lock):
        return None
    holders = process_identity.holders(run.lock)
    return next((who for who in holders if _is_keeper(run, who)), None)


def living_runs() -> Iterator[Run]:
    """Every run of this user whose keeper lives, agents and commands of every home, by the process
    table. Empty where the system does not tell.
    """
    for pid, words in process_identity.command_lines():
        if len(words) > 1 and words[-1] == str(keeper.LOCK_FD) and words[-2].startswith("/"):
            run, who = Run(Path(words[-2])), process_identity.identify(pid)
            if who is not None and run.path.name.isdecimal() and _is_keeper(run, who):
                yield run


def _is_keeper(run: Run, who: ProcessId) -> bool:
    """The process lives, was started as the keeper of this run, and holds the task's lock."""
    if not process_identity.alive(who):
        return False
    if not process_identity.LINUX:
        return True  # such a system does not tell which process holds a lock
    own = str(run.path) in process_identity.arguments(who.pid)
    return own and process_identity.holds(who.pid, run.lock, keeper.LOCK_FD)


def _started(run: Run) -> Started | None:
    try:
        return run.started()
    except InvalidTask:
        return None


def stop(run: Run, *, now: bool = False) -> bool:
    """Ask the run's keeper to stop the whole tree: with the run's grace, or at once.

    False: there is no keeper to ask; `state_of` says how the run ended.
    """
    who = keeper_of(run)
    if who is None:
        return False
    return process_identity.send(who, signal.SIGINT if now else signal.SIGTERM)


def stop_run(
    run: Run, reason: Outcome, *, keeper: ProcessId | None = None, now: bool = False
) -> bool:
    """Ask the run's keeper to stop the whole process tree: with the run's grace, or at once.

    This is the one way to stop a run. The reason is written before the signal: a process that dies
    in between leaves a run that ends later with a reason, and never a run that ended and looks as
    if it had failed by itself. The first reason that was written stands. `keeper` is known to the
    supervisor before the run's files name it. False: there is no keeper to ask.
    """
    stop_reason.record(run, reason)
    if keeper is None:
        return stop(run, now=now)
    return process_identity.send(keeper, signal.SIGINT if now else signal.SIGTERM)


def glance(run: Run) -> Running | Ended | None:
    """The state by the run's files alone; takes no lock. None: the run starts, or is lost."""
    if (exit_record := run.exit()) is not None:
        return Ended(exit_record)
    started = run.started()
    return Running(started) if started and _is_keeper(run, started.keeper) else None


def is_alive(run: Run | None) -> bool:
    """There is a run, and its keeper lives, by the run's files alone."""
    return run is not None and isinstance(glance(run), Running)


def state_of(run: Run, patience: float = PATIENCE) -> KeptState:
    """The state of the task's latest run. Only for the holder of the task's lease.

    A lost run is fenced and its processes are killed, so that no process of the run can start
    after this has returned.
    """
    end = time.monotonic() + patience
    while True:
        with run_locked(run.task_dir) as lock:
            # If the lock is held for another run of the task, this run is over.
            if lock is not None or run.lock_holder() != run:
                return _settle(run, end)
        if (who := keeper_of(run)) is not None:
            return Running(_started(run), who)
        started = _started(run)
        left = kill_trees([*_marked(run), *process_identity.holders(run.lock)]) if started else []
        if time.monotonic() >= end:
            return Orphaned(tuple(left)) if left else Running(started)
        time.sleep(_PAUSE)


def _settle(run: Run, end: float) -> KeptState:
    """The state of a run that is over, by the record or by the fence that is written now."""
    exit_record = run.exit()
    if exit_record is not None and process_identity.LINUX:
        return Ended(exit_record)
    started = run.started()
    if exit_record is None:
        run.fence()
    while left := kill_trees(_marked(run)):  # not the holder of the lock, which is this process
        if time.monotonic() >= end:
            return Orphaned(tuple(left))
        time.sleep(_PAUSE)
    if exit_record is not None:
        return Ended(exit_record)
    return Vanished(started) if started else NeverStarted()


def _marked(run: Run) -> list[ProcessId]:
    return process_identity.marked(mark_of(run))


def kill_trees(survivors: list[ProcessId]) -> list[ProcessId]:
    """Kill what a dead keeper left behind, with all descendants; the processes that were killed.
    This process is none of them, even where one of those started it.
    """
    me = os.getpid()
    others = [who for who in survivors if who.pid != me]
    doomed = [who for who in process_identity.tree(*others) if who.pid != me]
    for who in doomed:
        process_identity.send(who, signal.SIGKILL)
    return doomed
