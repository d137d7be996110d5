"""When no task is claimed at all, and what the log says of that."""

from fleet.config import Config
from fleet.schemas import Spend
from fleet.spending.budgets import day_of
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.claim_work import Claimer
from tests.builders import NOW


def test_a_spent_day_is_logged_once_while_runs_go_on_to_spend(state, queue, said):
    """Each report of another host or of a run that ends changes the figures."""
    state.apply(Config(coder="none", day_budget="$5"))
    queue.busy = False
    claimer = Claimer(state, until_idle=False)
    for run in (1, 2, 3):
        spent = SpendEntry(task="fleet-9", run=run, project="/srv", spend=Spend(usd=6.0, runs=1))
        state.meter.ledger.add_elsewhere(day_of(NOW), spent)
        claimer.when_due()
    assert [line for line in said if "no run begins" in line] == said
    assert len(said) == 1
