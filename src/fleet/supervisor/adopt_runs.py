"""Runs that a supervisor before us started, or that we lost sight of: adopted if they live, ended
if they are over, and looked at again as long as nobody knows.
"""

import time
from pathlib import Path

from msgspec import Struct

from fleet.config import Config
from fleet.errors import InvalidTask
from fleet.home import Home
from fleet.home.journal import Log
from fleet.processes.keeper_client import Ended, Orphaned, Running, adopt
from fleet.runs.run_directory import Run
from fleet.schemas import Lease, Stopped
from fleet.schemas.decision import OURS
from fleet.supervisor.active.active_run import Over
from fleet.supervisor.active.active_runs import Runs, state_now
from fleet.supervisor.start.launch import take_over

#: A run of which it is not known yet what became is looked at again after this long, doubled up
#: to the longest: a keeper that is being born tells in milliseconds, one that withstands may not.
_SOON, _LATER = 0.02, 1.0


class Unclear(Struct):
    """A task that is ours, and an old run of it that may live or not."""

    lease: Lease
    run: Run
    #: What it runs on, if it does; empty where nobody wrote it down.
    account: str = ""
    pause: float = _SOON
    due: float = 0.0


class Adoption:
    """Takes up old runs. Their tasks wait, leased, until it is known what became of each."""

    def __init__(self, home: Home, *, shims: Path, runs: Runs, log: Log) -> None:
        self._home, self._shims, self._runs, self._log = home, shims, runs, log
        self._unclear: dict[str, Unclear] = {}

    def __len__(self) -> int:
        return len(self._unclear)

    def get(self, task_id: str) -> Unclear | None:
        return self._unclear.get(task_id)

    @property
    def accounts(self) -> list[str]:
        """What those that may live run on."""
        return [unclear.account for unclear in self._unclear.values() if unclear.account]

    @property
    def next_moment(self) -> float:
        """When one is to be looked at again, on the monotonic clock."""
        return min((unclear.due for unclear in self._unclear.values()), default=float("inf"))

    def lose_sight(self, lease: Lease, run: Run) -> None:
        """Nobody watches this run any more, and it is not known what became of it."""
        self._unclear[lease.task.id] = Unclear(lease, run, _account_of(run))

    def take_up(self, config: Config, lease: Lease, run: Run, stopping: Stopped | None) -> None:
        """See to a run that was begun and has no ending. `stopping`: all of them are to end."""
        self._look(config, Unclear(lease, run, _account_of(run)), stopping)

    def look_again(self, config: Config, stopping: Stopped | None) -> None:
        """See whether it is known by now what became of a run."""
        now = time.monotonic()
        for task_id, unclear in list(self._unclear.items()):
            if now >= unclear.due:
                del self._unclear[task_id]
                try:
                    self._look(config, unclear, stopping)
                except OSError:  # the machine is short of something: it knows no better than before
                    self._wait_for(unclear, None)

    def _look(self, config: Config, unclear: Unclear, stopping: Stopped | None) -> None:
        """Adopt the run if it lives, end it if it is over, and else look again."""
        lease, run = unclear.lease, unclear.run
        state = state_now(run)
        keeper = adopt(state.started) if isinstance(state, Running) and state.started else None
        if isinstance(state, Running | Orphaned) and keeper is None:
            self._wait_for(unclear, state)
            return
        live = take_over(self._home, config, lease, run, self._shims)
        live.keeper = keeper
        live.over = state if isinstance(state, Over) else None
        if isinstance(live.verdict, Stopped) and live.verdict.by in OURS and _by_itself(state):
            live.verdict = None  # whoever had it before us left it: it is ours to judge, or to stop
        self._runs.attend(live)
        if live.over is not None:
            return
        text = f"{lease.task.id}: adopted run {run.number}"
        self._log.say("adopted", text, task_dir=run.task_dir)
        if live.verdict is not None:
            # Whoever had it before us may have died before it could tell it to end.
            self._runs.remind(live, config.grace_s + 1.0)
        elif stopping is not None:
            self._runs.stop(live, stopping)

    def _wait_for(self, unclear: Unclear, state: Running | Orphaned | None) -> None:
        """It lives without a keeper to be asked, or is just being born: look again, and later."""
        run = unclear.run
        if unclear.pause < _LATER <= unclear.pause * 2:
            pids = ", ".join(str(who.pid) for who in getattr(state, "survivors", ()))
            text = f"{unclear.lease.task.id}: waits for what is left of run {run.number} {pids}"
            self._log.say("unclear", text.rstrip(), task_dir=run.task_dir)
        unclear.due = time.monotonic() + unclear.pause
        unclear.pause = min(unclear.pause * 2, _LATER)
        self._unclear[unclear.lease.task.id] = unclear


def _account_of(run: Run) -> str:
    try:
        return run.spec().account
    except InvalidTask:
        return ""


def _by_itself(state: object) -> bool:
    """The agent had ended before anybody asked it to."""
    return isinstance(state, Ended) and state.exit.stop is None
