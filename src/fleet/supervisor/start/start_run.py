"""From a lease to its run: what it needs is put together, its directory made ready, its keeper
started. Whatever keeps it from beginning settles the lease.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from fleet.accounts.candidates import Place
from fleet.accounts.choose_account import Wait
from fleet.accounts.credentials import AccountTrouble
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.runs.outcome_history import history
from fleet.schemas import Lease
from fleet.schemas.decision import blocked, released
from fleet.supervisor.active.active_runs import Runs
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.finish.finish_run import Settling
from fleet.supervisor.host.resource_backoff import Shortage
from fleet.supervisor.start.launch import (
    Gone,
    Ready,
    Short,
    Unfit,
    launch,
    make_ready,
    moved,
    placed,
)
from fleet.supervisor.start.pending_workspaces import InPreparation, Preparing
from fleet.supervisor.start.workspace import (
    Abandoned,
    Broken,
    Prepared,
    Unprepared,
    Workspace,
    order_of,
)

#: When a task looks again for an account whose secret could not be had.
_TROUBLE = timedelta(minutes=1)


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
        assigner: AccountAssigner,
        shortage: Shortage,
        meter: BudgetMeter,
        log: Log,
        clock: Callable[[], datetime],
    ) -> None:
        self._home, self._coder, self._shims = home, coder, shims
        self._runs, self._preparing, self._settling = runs, preparing, settling
        self._assigner, self._shortage, self._meter = assigner, shortage, meter
        self._log, self._now = log, clock
        #: Tasks that are not closed, with their directories, as they were a while ago.
        self.others: tuple[tuple[str, str], ...] = ()

    def begin(self, config: Config, lease: Lease, task_dir: Path) -> None:
        """Begin a run, or have its directory made ready first."""
        place = placed(self._home, config, lease.task, self._coder)
        if isinstance(place, Place):
            spent = self._meter.refusal(lease.task, place.ruled.policy, place.cwd)
            if spent is not None:
                self._settling.settle(lease, spent)
                return
        found = place if isinstance(place, Unfit) else self._seat(config, lease, place, task_dir)
        if isinstance(found, Wait):
            self._settling.settle(lease, released(found.why, not_before=found.until))
            return
        if isinstance(found, Ready):
            self._begin(config, lease, found, task_dir)
        else:
            task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._settling.settle(lease, blocked(f"invalid: {found.why}"), task_dir)

    def _seat(
        self, config: Config, lease: Lease, place: Place, task_dir: Path
    ) -> Ready | Unfit | Wait:
        """Choose what it runs on, and put together what it needs there."""
        task_id, now = lease.task.id, self._now()
        try:
            chosen = self._assigner.choose(config, place, task_id, history(task_dir).last, now)
        except FleetError as error:
            return Unfit(error.message)
        if isinstance(chosen, Wait):
            return chosen
        try:
            ready = make_ready(
                self._home, config, lease, place, chosen.seat,
                login=self._assigner.variables, outline=self._assigner.outline, shims=self._shims,
            )  # fmt: skip
        except AccountTrouble as error:  # a keyring that does not answer, a file that is just gone
            why = f"account {chosen.seat.account.name}: {error.message}"
            return Wait(until=now + _TROUBLE, why=why)
        if isinstance(ready, Ready):
            self._assigner.run_started(chosen, task_id, now)
        return ready

    def _begin(self, config: Config, lease: Lease, ready: Ready, task_dir: Path) -> None:
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

    def _launch(self, config: Config, ready: Ready, lease: Lease, task_dir: Path) -> None:
        got = launch(self._home, config, lease, ready, self._shims)
        if isinstance(got, Unfit):
            self._settling.settle(lease, blocked(f"invalid: {got.why}"), task_dir)
            return
        if isinstance(got, Gone):
            why = "the session that it was to carry on is gone: it begins a fresh one"
            self._settling.settle(lease, released(why), task_dir)
            return
        if isinstance(got, Short):
            self._shortage.hold(got.why)
        else:
            self._shortage.release()
            facts = {"coder": ready.coder.name, "model": ready.coder.model}
            got.note("fleet_started", self._now(), **facts, account=ready.account.name)
            on = "" if ready.account.is_own else f" on {ready.account.name}"
            text = f"{got.task_id}: run {got.run.number} with {ready.coder.name}{on}"
            self._log.say("run_started", f"{text} in {ready.task.cwd}", task_dir=task_dir)
        self._runs.attend(got.live if isinstance(got, Short) else got)
