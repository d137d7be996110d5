"""The brake: ends runs by their processes alone. It asks no queue and no supervisor, and takes no
lock, so it works when all of these hang or are dead.

Each run's keeper is told first. A keeper that is dead, or does not do it in time, is not needed:
its tree is found by the mark that every process of the run bears, and killed.
"""

import os
import select
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.errors import FleetError
from fleet.evidence.verify_commands import FOLDERS
from fleet.files.atomic_write import write_atomically
from fleet.home import Home
from fleet.processes import process_identity
from fleet.processes.process_identity import ProcessRow
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs import stop_reason
from fleet.runs.run_directory import ProcessId, Run
from fleet.runs.run_id import RunId, find_run
from fleet.schemas import Stopped

#: Seconds beyond the grace after which a keeper's processes are killed without the keeper.
KEEPERS_TIME = 1.0
#: Seconds beyond that after which `brake` gives up and reports what is left.
_PATIENCE = 5.0
#: The record in the directory of a run whose keeper did not end it.
FILE = "brake.json"
#: Between two looks at all processes, unless a keeper ends sooner.
_PAUSE = 0.1


class Braked(Struct, frozen=True, kw_only=True):
    """What `brake` did with one run."""

    task_id: str
    run: int | None
    #: No process of the run is left.
    gone: bool
    #: Seconds from the call of `brake` until nothing was left.
    seconds: float
    #: The keeper was dead or too slow, and the run's processes were killed without the keeper.
    by_hand: bool = False
    #: Numbers of the processes that are left.
    left: tuple[int, ...] = ()


class _Target:
    """One run that is to end."""

    def __init__(self, home: Home, mark: str) -> None:
        self.home = home
        self.mark = mark
        self.task_id = _task_of(mark)
        self.run = _run_of(home, mark)
        self.signalled: set[ProcessId] = set()
        self.by_hand = False
        self.seconds: float | None = None
        self.left: tuple[int, ...] = ()
        self.grace = 0.0
        with suppress(FleetError):
            self.grace = self.run.spec().grace if self.run else 0.0

    def signal_roots(self, rows: list[ProcessRow], number: signal.Signals) -> None:
        """Signal the roots of the run's process tree: the keeper, or what a dead keeper left."""
        pids = {row.who.pid for row in rows}
        for row in rows:
            if row.parent not in pids and row.who not in self.signalled:
                self.signalled.add(row.who)
                process_identity.send(row.who, number)
                process_identity.send(row.who, signal.SIGCONT)  # one that was halted hears nothing

    def kept(self) -> bool:
        """Whether a keeper lives. A record that the agent has damaged counts as a living keeper."""
        try:
            started = self.run.started() if self.run else None
        except FleetError:
            return True
        return started is None or process_identity.alive(started.keeper)

    def kill(self, rows: Iterable[ProcessRow]) -> list[ProcessId]:
        """SIGKILL the run's process tree; returns the processes that were signalled."""
        roots = [*(row.who for row in rows), *self._nameless()]
        doomed = [who for who in process_identity.tree(*roots) if who.pid != os.getpid()]
        for who in doomed:
            self.by_hand = True
            process_identity.send(who, signal.SIGKILL)
        return doomed

    def _nameless(self) -> list[ProcessId]:
        """Processes that dropped the run's mark and still hold the lock. A supervisor that holds
        the lock for a moment does not count: it is older than the run, or known by name.
        """
        started = None
        with suppress(FleetError):
            started = self.run.started() if self.run else None
        if self.run is None or started is None or not process_identity.may_be_locked(self.run.lock):
            return []
        holder = supervisor_of(self.home)
        return [
            who
            for who in process_identity.holders(self.run.lock)
            if who.start_ticks >= started.agent.start_ticks and not (holder and holder.who == who)
        ]


def brake(
    home: Home,
    owner: str,
    *,
    by: str,
    now: bool,
    only: str | None = None,
) -> list[Braked]:
    """End every run of this home, or that of one task, and wait until each has ended.

    Runs that begin meanwhile are ended too. The caller keeps others from beginning after that.
    """
    began = time.monotonic()
    prefix = f"{owner}." if only is None else f"{owner}.{only}."
    targets: dict[str, _Target] = {}
    commands = _end_commands(home, owner, by, only)
    while True:
        found = {mark: _others(rows) for mark, rows in process_identity.bearers(prefix).items()}
        found = {mark: rows for mark, rows in found.items() if rows}
        for mark in found.keys() - targets.keys():
            target = _Target(home, mark)
            if only in (None, target.task_id):
                targets[mark] = target
                if target.run is not None:
                    stop_reason.record(target.run, Stopped(by=by))
        spent = time.monotonic() - began
        for target in targets.values():
            _press(target, found.get(target.mark, []), spent, now=now)
        longest = max((0.0 if now else target.grace for target in targets.values()), default=0.0)
        if all(target.seconds is not None for target in targets.values()):
            break
        if spent >= longest + KEEPERS_TIME + _PATIENCE:
            break
        _wait(targets.values())
    return [
        *(_brake_end(target, time.monotonic() - began) for target in targets.values()),
        *commands,
    ]


def _end_commands(home: Home, owner: str, by: str, only: str | None) -> list[Braked]:
    """End the verify commands of runs that are over; the claims of those runs stay unjudged."""
    began = time.monotonic()
    ended: dict[str, Braked] = {}
    while found := _commands(owner, only):
        spent = time.monotonic() - began
        for of_run, rows in found.items():
            task_id = _task_of(of_run)
            run = _run_of(home, of_run)
            left = tuple(row.who.pid for row in rows)
            if of_run not in ended and run is not None:
                stop_reason.record(run, Stopped(by=by))
            number = run.number if run is not None else None
            ended[of_run] = Braked(
                task_id=task_id, run=number, gone=False, seconds=round(spent, 3), left=left
            )
            _end_tops(rows, kill=spent >= KEEPERS_TIME)
        if spent >= KEEPERS_TIME + _PATIENCE:
            return list(ended.values())
        time.sleep(_PAUSE / 4)
    spent = round(time.monotonic() - began, 3)
    return [structs.replace(each, gone=True, seconds=spent, left=()) for each in ended.values()]


def _commands(owner: str, only: str | None) -> dict[str, list[ProcessRow]]:
    """The processes that verify, by the mark of the run that they are about."""
    found: dict[str, list[ProcessRow]] = {}
    for folder in FOLDERS:
        for mark, rows in process_identity.bearers(f"{folder}.{owner}.").items():
            of_run = mark.removeprefix(f"{folder}.").rpartition(".")[0]
            if only in (None, _task_of(of_run)) and (others := _others(rows)):
                found.setdefault(of_run, []).extend(others)
    return found


def _task_of(mark: str) -> str:
    """The task of a run's mark; empty for a mark that an agent made up."""
    run_id = RunId.parse(mark)
    return run_id.task if run_id else ""


def _end_tops(rows: list[ProcessRow], *, kill: bool) -> None:
    """Interrupt the tops of process trees: keepers, or what dead keepers left. `kill`: kill all."""
    pids = {row.who.pid for row in rows}
    for row in rows:
        if kill or row.parent not in pids:
            process_identity.send(row.who, signal.SIGKILL if kill else signal.SIGINT)
            process_identity.send(row.who, signal.SIGCONT)


def _press(target: _Target, rows: list[ProcessRow], spent: float, *, now: bool) -> None:
    """Interrupt or kill the processes of one run, as the time spent on the stop demands."""
    if target.seconds is not None and not rows:
        return
    target.seconds, target.left = None, tuple(row.who.pid for row in rows)
    grace = 0.0 if now else target.grace
    if rows and spent < grace + KEEPERS_TIME and (spent < grace or target.kept()):
        target.signal_roots(rows, signal.SIGINT if now else signal.SIGTERM)
    elif rows or not _recorded(target.run):
        # A dead keeper cannot sweep: what dropped the mark still holds the task's lock.
        target.left = tuple(who.pid for who in target.kill(rows))
    if not target.left:
        target.seconds = spent


def _others(rows: list[ProcessRow]) -> list[ProcessRow]:
    """The processes without this one: an agent may be the caller of `fleet stop --all`."""
    return [row for row in rows if row.who.pid != os.getpid()]


def _recorded(run: Run | None) -> bool:
    """The keeper has recorded the end of the whole process tree."""
    try:
        ending = run.exit() if run is not None else None
    except FleetError:
        return False
    return ending is not None and not ending.left


def _wait(targets: Iterable[_Target]) -> None:
    """Wait until the signalled processes have ended, but not longer than one pause."""
    poller = select.poll()
    fds = {
        fd for target in targets for who in target.signalled if (fd := process_identity.pidfd(who))
    }
    for fd in fds:
        poller.register(fd, select.POLLIN)
    if not fds:  # all that are left were killed, or this system has no pidfd
        time.sleep(_PAUSE / 4)
    end = time.monotonic() + _PAUSE
    try:
        while fds and (left := end - time.monotonic()) > 0:
            for fd, _ in poller.poll(left * 1000):
                poller.unregister(fd)
                os.close(fd)
                fds.discard(fd)
    finally:
        for fd in fds:
            os.close(fd)


def _brake_end(target: _Target, seconds: float) -> Braked:
    done = Braked(
        task_id=target.task_id,
        run=target.run.number if target.run else None,
        gone=target.seconds is not None,
        seconds=round(seconds if target.seconds is None else target.seconds, 3),
        by_hand=target.by_hand and not _recorded(target.run),
        left=target.left,
    )
    if done.by_hand and target.run is not None:
        with suppress(OSError):
            write_atomically(Path(target.run.path, FILE), msgspec.json.encode(done))
    return done


def _run_of(home: Home, mark: str) -> Run | None:
    """The run that bears the mark; None if the directory is gone or damaged."""
    run_id = RunId.parse(mark)
    return find_run(home, run_id) if run_id else None
