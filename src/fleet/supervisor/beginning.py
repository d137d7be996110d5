"""From a lease to its run: what it needs is put together, its directory made ready, its keeper
started. Whatever keeps it from beginning settles the lease.
"""

import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from fleet.config import Config
from fleet.schemas import Lease
from fleet.supervisor.breaker import Breaker
from fleet.supervisor.cooling import Cooling
from fleet.supervisor.launch import Ready, Short, Unfit, launch, make_ready, moved
from fleet.supervisor.log import Log
from fleet.supervisor.meter import Meter
from fleet.supervisor.preparing import InPreparation, Preparing
from fleet.supervisor.runs import Runs
from fleet.supervisor.settle import blocked, released, spread
from fleet.supervisor.settling import Settling
from fleet.supervisor.shortage import Shortage
from fleet.supervisor.workspace import (
    Abandoned,
    Broken,
    Prepared,
    Unprepared,
    Workspace,
    order_of,
)
from fleet.taskdir import Home


class Beginning:
    """Begins runs."""

    def __init__(
        self,
        home: Home,
        *,
        coder: str | None,
        shims: Path,
        runs: Runs,
        preparing: Preparing,
        settling: Settling,
        cooling: Cooling,
        breaker: Breaker,
        shortage: Shortage,
        meter: Meter,
        log: Log,
        clock: Callable[[], datetime],
        at_work: Callable[[str], bool],
    ) -> None:
        self._home, self._coder, self._shims = home, coder, shims
        self._runs, self._preparing, self._settling = runs, preparing, settling
        self._cooling, self._breaker, self._shortage = cooling, breaker, shortage
        self._meter = meter
        self._log, self._now = log, clock
        self._at_work = at_work
        #: Tasks that are not closed, with their directories, as they were a while ago.
        self.others: tuple[tuple[str, str], ...] = ()

    def begin(self, config: Config, lease: Lease, task_dir: Path) -> None:
        """Begin a run, or have its directory made ready first."""
        ready = make_ready(self._home, config, lease, coder=self._coder, shims=self._shims)
        if isinstance(ready, Unfit):
            task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._settling.settle(lease, blocked(f"invalid: {ready.why}"), task_dir)
        elif not self._put_off(lease, ready):
            order = order_of(
                self._home, config,
                task_id=lease.task.id, cwd=str(ready.task.cwd), policy=ready.policy,
                others=self.others,
            )  # fmt: skip
            if order is None:
                self._launch(config, ready, lease, task_dir)
            else:
                self._preparing.begin(lease, ready, order)

    def go_on(
        self, config: Config, task: InPreparation, got: Prepared, lease: Lease, task_dir: Path
    ) -> None:
        """Begin a run whose directory is ready, or cannot be. Raises what the machine refused."""
        match got:
            case Broken(error):
                raise error
            case Abandoned():
                self._settling.settle(lease, released("its preparation was left"), task_dir)
                return
            case Unprepared():
                ready = got
            case Workspace():
                ready = moved(self._home, task.ready, got, self._shims)
        if isinstance(ready, Ready):
            self._launch(config, ready, lease, task_dir)
        else:
            self._settling.settle(lease, blocked(f"invalid: {ready.why}"), task_dir)

    def _put_off(self, lease: Lease, ready: Ready) -> bool:
        """A budget is spent, or its coder waits or gets no work: then the task waits too."""
        spent = self._meter.refusal(lease.task, ready.policy, str(ready.task.cwd))
        if spent is not None:
            self._settling.settle(lease, spent)
            return True
        now, coder = self._now(), ready.coder
        until = self._cooling.until(coder.name, now)
        why = f"{coder.name} waits for its limit to reset"
        if until is None:
            held = self._breaker.admit(coder.name, coder.model, lease.task.id, now, self._at_work)
            if held is None:
                return False
            until, why = held.until, f"{held.name} gets no work: {held.text}"
        later = spread(until, now, random.random())  # noqa: S311 - not a secret
        self._settling.settle(lease, released(why, not_before=later))
        return True

    def _launch(self, config: Config, ready: Ready, lease: Lease, task_dir: Path) -> None:
        got = launch(self._home, config, lease, ready, self._shims)
        if isinstance(got, Unfit):
            self._settling.settle(lease, blocked(f"invalid: {got.why}"), task_dir)
            return
        if isinstance(got, Short):
            self._shortage.hold(got.why)
        else:
            self._shortage.release()
            got.note("fleet_started", self._now(), coder=ready.coder.name, model=ready.coder.model)
            text = f"{got.task_id}: run {got.run.number} with {ready.coder.name}"
            self._log.say("run_started", f"{text} in {ready.task.cwd}", task_dir=task_dir)
        self._runs.attend(got.live if isinstance(got, Short) else got)
