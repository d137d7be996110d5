"""Follows what runs show of their accounts: limits, answers, wrong logins, faults."""

from collections.abc import Sequence

from fleet.accounts.account_state import AccountEvent
from fleet.extend import AtOnce, RunObserver
from fleet.runs.outcome_history import Ending
from fleet.schemas import Event, Outcome, Receipt
from fleet.settlement.end_run import RunEnd
from fleet.settlement.login_fault import fault_of, spare_probe
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.queue_io.reopen_tasks import wake_next
from fleet.supervisor.state import Happening, SupervisorState


class AccountNoted(Happening, frozen=True):
    """A run showed something of the account that it works on."""

    account: str
    event: AccountEvent


class AccountWatch(RunObserver):
    """Records the limits and the answers that runs meet, and the logins that fail."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def events(self, run: ActiveRun, events: Sequence[Event]) -> None:
        state = self._state
        for limit in state.accounts.follow(run, state.config, state.now()):
            state.events.append(AccountNoted(run.account, limit))

    def exited(self, run: ActiveRun, outcome: Outcome) -> Outcome:
        return self._state.accounts.as_stale(run, outcome, self._state.config)

    def ended(self, run: ActiveRun, end: RunEnd) -> Ending:
        """Hold a login, or one model of a login, that fails alone. A trial of what is held is not
        counted as an attempt of its task.
        """
        accounts = self._state.accounts
        found = fault_of(end.ending, missing=end.program_missing)
        if found is None:
            return end.ending
        tries = accounts.tries_held(run)
        held = accounts.note_fault(run, found.fault, found.why, self._state.now())
        return spare_probe(end.ending, held.until) if tries and held is not None else end.ending

    def settled(self, run: ActiveRun, ending: Ending, receipt: Receipt | None) -> None:
        state, seconds = self._state, receipt.seconds if receipt is not None else None
        event = state.accounts.run_ended(run, ending, seconds or 0.0, ending.at)
        state.events.append(AccountNoted(run.account, event))
        if run.account in state.accounts.full_accounts:
            wake_next(state)


class LoginWatch(RunObserver):
    """Ends a run that works with another login than the one that was chosen."""

    active_only = True

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def events(self, run: ActiveRun, events: Sequence[Event]) -> AtOnce | None:
        state = self._state
        wrong = state.accounts.wrong_login(run, state.config)
        if wrong is None:
            return None
        run.stream.note("fleet_wrong_account", state.now(), why=wrong.detail)
        text = f"{run.task_id}: stopped: {wrong.detail}"
        state.log.say("wrong_account", text, task_dir=run.run.task_dir)
        return AtOnce(wrong)
