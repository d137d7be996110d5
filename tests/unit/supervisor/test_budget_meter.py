"""The meter with a clock that goes where it is put, and runs that say what they spend."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from fleet.config import Config, Project
from fleet.extend import HomeMoment, TaskStart, why_none
from fleet.home.journal import Log
from fleet.runs.outcome_history import write_ending
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import (
    Budget,
    Event,
    Failed,
    Policy,
    Price,
    Receipt,
    Spend,
    Usage,
)
from fleet.schemas.waits import BudgetSpent
from fleet.spending import budgets
from fleet.spending.budget_gates import (
    DayBudget,
    DayBudgets,
    ProjectBudget,
    TaskBudget,
    TaskSpend,
)
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.assignments import Active, ActiveRun, Assignments, RunMemory
from tests.builders import a_lease, a_run, a_task, an_ending
from tests.unit.supervisor.conftest import ScriptedCoder

NOON = datetime(2026, 11, 15, 12, 0).astimezone()
ONE = Price(input=1.0, output=1.0, cache_read=1.0, cache_write=1.0)
PRICES = {"*": ONE}


class Shop:
    """A home, its meter, and what its runs said."""

    def __init__(self, home, **settings):
        self.home = home
        self.now = NOON
        self.said = []
        self.assignments = Assignments()
        self.configure(**settings)
        self.open()

    def open(self):
        """A supervisor begins: nothing is remembered that was not written."""
        log = Log(self.home.logging, lambda: self.now.astimezone(UTC), self.said.append)
        self.meter = BudgetMeter(self.home, self.config, log, lambda: self.now)

    def configure(self, **settings):
        self.config = Config(prices=PRICES, **settings)
        if hasattr(self, "meter"):
            self.meter.apply(self.config)

    def begin(self, name="fleet-1", *, cwd="/srv/app", budget=None):
        lease = a_lease(name, cwd=cwd)
        coder = ScriptedCoder()
        spec = RunSpec(argv=("x",), cwd=cwd, policy=Policy(budget=budget or Budget()))
        run = ActiveRun(lease.task, new_run(self.home.task(name), spec), coder, env={}, spec=spec)
        run.coder.model = "any"
        self.assignments.take(lease).stage = Active(run)
        return run

    def spend(self, live, dollars):
        """So many dollars' worth of tokens, by a price of one for a million."""
        live.totals.add(Event(kind="usage", tokens=Usage(output=round(dollars * 1_000_000))))

    def look(self):
        runs = [run for _, run in self.assignments.runs()]
        self.meter.count(runs)
        over = [(run.task_id, self.meter.over_budget(run)) for run in runs]
        return [(task_id, passed.limit) for task_id, passed in over if passed is not None]

    def end(self, live):
        """It is over: its receipt goes into the books."""
        self.meter.apply_prices(live)
        receipt = Receipt(
            task_id=live.task_id, run=live.run.number, coder="told", project=live.project,
            started_at=self.now, usage=live.totals.tokens.usage, estimated_usd=live.estimated_usd,
        )  # fmt: skip
        self.meter.record(live, receipt)
        self.assignments.remove(self.assignments.get(live.task_id))

    def notes(self, live):
        path = live.run.task_dir / "events.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["kind"] for line in lines]

    def day_is_spent(self):
        return why_none([DayBudget()], self.at()) is not None

    def at(self):
        return HomeMoment(now=self.now, facts=(DayBudgets(statuses=self.meter.statuses()),))

    def refusal(self, project):
        """Why a task of this project would not start."""
        return ProjectBudget().why_not(TaskStart(task=a_task(), project=project), self.at())


def spent_before(shop, name, dollars):
    """An earlier run of a task, and what it cost."""
    ending = an_ending(Failed(reason="api_error"), at=NOON, tokens=2000, cost_usd=dollars)
    write_ending(a_run(shop.home.task(name)), ending)


@pytest.fixture
def shop(home):
    return Shop(home, day_budget="$10")


def test_living_and_ended_runs_are_counted_together_and_once(shop):
    """By their tokens while they live, by their receipts afterwards."""
    first, second = shop.begin("fleet-1"), shop.begin("fleet-2")
    shop.spend(first, 3)
    shop.spend(second, 4)
    assert shop.look() == []
    assert str(shop.meter.statuses()[0]) == "the day's budget: ~$7.00 of $10 (70 %)"
    shop.end(first)
    shop.assignments.take(a_lease()).stage = Active(first)  # recorded, and not yet settled
    shop.look()
    assert shop.meter.statuses()[0].spent.usd == 7
    shop.spend(second, 3)
    assert ("fleet-2", "day_budget") in shop.look()
    assert shop.day_is_spent()


def test_a_run_that_an_earlier_supervisor_recorded_counts_once(shop):
    """It died between the ledger's line and the outcome, and the next one follows the run."""
    live = shop.begin()
    shop.spend(live, 3)
    shop.end(live)
    shop.open()
    live.adopted, live.memory = True, RunMemory()
    for _ in range(2):
        shop.assignments.take(a_lease(live.task_id)).stage = Active(live)
        shop.look()
        assert shop.meter.statuses()[0].spent.usd == 3
        shop.end(live)
        assert shop.meter.statuses()[0].spent.usd == 3


def test_a_budget_that_is_near_is_said_once(shop):
    """In the log, in the events of the runs that it concerns, and not again after a restart."""
    live = shop.begin()
    shop.spend(live, 8)
    for _ in range(3):
        shop.look()
    shop.open()
    shop.look()
    assert len(shop.said) == 1
    assert "80 %" in shop.said[0]
    assert shop.notes(live) == ["fleet_budget_near"]
    shop.configure(day_budget="$9")  # another budget is another matter
    shop.look()
    assert len(shop.said) == 2


def test_a_clock_that_jumps_over_midnight_and_back_keeps_each_day_apart(shop):
    """A run belongs to the day it began on; nothing is lost, and nothing counted twice."""
    live = shop.begin()
    shop.spend(live, 12)
    assert shop.look() == [("fleet-1", "day_budget")]
    for jump in (timedelta(days=1), -timedelta(days=2), timedelta(days=400), -timedelta(days=9999)):
        shop.now = NOON + jump
        assert shop.look() == []
        assert not shop.day_is_spent()
        assert shop.meter.statuses()[0].spent.usd == 0
    shop.now = NOON
    assert shop.look() == [("fleet-1", "day_budget")]
    shop.end(live)
    shop.now = NOON + timedelta(days=1)
    other = shop.begin("fleet-2")
    shop.spend(other, 1)
    assert (shop.look(), shop.day_is_spent()) == ([], False)
    shop.now = NOON
    shop.look()
    assert shop.day_is_spent()
    assert shop.meter.statuses()[0].spent.usd == 12


def test_a_projects_budget_stops_its_own_tasks_only(home):
    """Before they begin and while they live; the innermost project pays."""
    projects = {
        "/srv": Project(path="/srv", settings={"day_budget": "$5"}),
        "/srv/web": Project(path="/srv/web", settings={"day_budget": "5M tokens"}),
    }
    shop = Shop(home, projects=projects)
    mine, other = shop.begin("fleet-1", cwd="/srv/app"), shop.begin("fleet-2", cwd="/srv/web/ui")
    shop.spend(mine, 6)
    shop.spend(other, 4)
    assert shop.look() == [("fleet-1", "project_budget")]
    assert shop.refusal("/srv").until == budgets.next_day(shop.now)
    assert shop.refusal("/srv/web") is None
    assert shop.refusal("") is None
    assert not shop.day_is_spent()


def test_a_task_pays_for_all_its_runs(shop):
    """What earlier ones spent counts with what lives; another task's budget is its own."""
    spent_before(shop, "fleet-1", 3.0)
    first, other = shop.begin(budget=Budget(usd=4)), shop.begin("fleet-2", budget=Budget(usd=4))
    shop.spend(first, 0.5)
    shop.spend(other, 3)
    assert shop.look() == []
    assert shop.notes(first) == ["fleet_budget_near"]
    shop.spend(first, 0.5)
    assert shop.look() == [("fleet-1", "task_budget")]


def test_a_task_without_room_in_its_budget_does_not_begin(shop):
    """It is blocked, and the words say how much was spent."""
    spent = TaskSpend(spent=Spend(usd=4.5, runs=1))

    def held(policy):
        return TaskBudget().why_not(
            TaskStart(task=a_task(), policy=policy, facts=(spent,)), shop.at()
        )

    found = held(Policy(budget=Budget(usd=4)))
    assert found.blocks == BudgetSpent(what=found.reason)
    assert "$4.50 of $4" in found.reason
    assert held(Policy(budget=Budget(usd=5))) is None
    assert held(Policy()) is None


def test_a_dollar_budget_says_once_that_it_cannot_see_all(home):
    """A run that told of tokens and has no price; one that told of none yet is not blamed."""
    shop = Shop(home, day_budget="$10")
    shop.config = Config(day_budget="$10")
    shop.meter.apply(shop.config)
    live = shop.begin()
    shop.look()
    assert shop.said == []
    shop.spend(live, 1)
    shop.look()
    shop.look()
    assert len(shop.said) == 1
    assert "cannot see all" in shop.said[0]
    assert '[prices."pattern"]' in shop.said[0]


def test_without_budgets_nothing_is_written_while_runs_live(home):
    """Only a run that ended leaves a line."""
    shop = Shop(home)
    live = shop.begin()
    shop.spend(live, 1)
    assert shop.look() == []
    assert not (shop.home.path / "spent").exists()
    shop.end(live)
    assert len(list((shop.home.path / "spent").iterdir())) == 1
