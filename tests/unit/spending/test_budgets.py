"""The rules of budgets: how they are written, how they stand, whom they stop, and for how long."""

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec import structs

from fleet import config
from fleet.coders import make
from fleet.config import Config, Project
from fleet.errors import BadInput, ConfigError
from fleet.extend import HomeMoment, TaskStart
from fleet.home.task_policy import policy_of
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.outcome_history import History
from fleet.schemas import Account, Blocked, Budget, LimitExceeded, Policy, Settings, Spend
from fleet.schemas.budget import BudgetStatus, Payer, read_budget, shown_tokens, spend_of
from fleet.settlement.resume_policy import last_ending_words, session_to_carry_on
from fleet.settlement.settle_table import Facts, decide
from fleet.spending import budgets
from fleet.spending.budget_gates import TaskBudget, TaskSpend
from tests.builders import NOW, a_task, an_ending

DAY = BudgetStatus(scope="day", budget=Budget(usd=20))
APP = BudgetStatus(scope="project", name="/srv/app", budget=Budget(tokens=1000))
WORK = BudgetStatus(scope="account", name="work", budget=Budget(usd=5))

amounts = some.floats(0, 10_000)
spends = some.builds(
    Spend, runs=some.integers(0, 9), tokens=some.integers(0, 10**10), usd=amounts,
    estimated_usd=amounts, unpriced=some.integers(0, 9),
)  # fmt: skip
payers = some.builds(
    Payer, some.sampled_from(["/srv/app", "/srv/web", ""]), some.sampled_from(["work", "home", ""])
)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("$20", Budget(usd=20)),
        (" $0.50 ", Budget(usd=0.5)),
        ("50M", Budget(tokens=50_000_000)),
        ("50M tokens", Budget(tokens=50_000_000)),
        ("1.5m", Budget(tokens=1_500_000)),
        ("800 tokens", Budget(tokens=800)),
        ("20k", Budget(tokens=20_000)),
        ("none", Budget()),
    ],
)
def test_a_budget_is_read_as_people_write_it(text, budget):
    """And said in a way that can be read again."""
    assert read_budget(text) == budget
    assert read_budget(str(budget)) == budget


@pytest.mark.parametrize(
    "text",
    ["", "20", "$", "$0", "$-5", "-5M", "$nan", "$1e9", "lots", "0M", "9999999B", "$5M", "5 M USD"],
)
def test_what_is_no_budget_is_refused_with_the_forms_that_are(text):
    """A bare number too: it may be dollars or tokens, and nothing is spent on a guess."""
    with pytest.raises(BadInput) as error:
        read_budget(text)
    assert "$" in error.value.hint or "2.50" in error.value.hint


def test_a_broken_budget_in_the_settings_is_refused_with_its_line(tmp_path):
    """A project's as well as everybody's."""
    file = tmp_path / "runtime.toml"
    for text in ('day_budget = "20"', '[projects."/srv"]\nday_budget = "20"'):
        file.write_text(text)
        with pytest.raises(ConfigError, match=r"line 1: .*day_budget cannot be used: '20'"):
            config.load(file)


def test_a_tasks_budget_is_its_own_its_projects_or_everybodys():
    """None of its own inherits; `none` of its own is none."""
    project = Project(path="/srv", settings={"task_budget": "5M"})
    found = Config(task_budget="$9", projects={"/srv": project})
    own = Settings(budget=Budget())
    assert policy_of(found, Settings(), "/").policy.budget == Budget(usd=9)
    assert policy_of(found, Settings(), "/srv/app").policy.budget == Budget(tokens=5_000_000)
    assert not policy_of(found, own, "/srv/app").policy.budget
    assert policy_of(found, own, "/").own == {"budget"}


def test_the_budgets_of_a_day_are_those_that_were_set():
    """A project does not inherit everybody's; an account's is one more line."""
    project = Project(path="/srv", settings={"day_budget": "$5"})
    found = Config(day_budget="50M", projects={"/srv": project, "/web": Project(path="/web")})
    accounts = {
        name: Account(name=name, coder="claude", directory=f"/{name}", day_budget=text)
        for name, text in (("work", "$7"), ("home", ""), ("other", "none"))
    }
    in_force = budgets.of_days(structs.replace(found, accounts=accounts))
    assert [(each.scope, each.name, str(each.budget)) for each in in_force] == [
        ("day", "", "50M tokens"),
        ("project", "/srv", "$5"),
        ("account", "work", "$7"),
    ]
    assert budgets.of_days(Config()) == ()


@given(some.lists(some.tuples(payers, spends), max_size=20), some.sampled_from([DAY, APP, WORK]))
def test_a_budget_counts_what_concerns_it_and_nothing_else(spent, empty):
    """In any order; the whole day is the sum of all."""
    found = budgets.status_of(empty, spent)
    mine = [spend for payer, spend in spent if empty.concerns(payer)]
    assert found.spent.tokens == sum(spend.tokens for spend in mine)
    assert found.spent.usd == pytest.approx(sum(spend.usd for spend in mine))
    assert budgets.status_of(empty, reversed(spent)).spent.runs == found.spent.runs
    assert found.reached == (found.spent.share_of(empty.budget) >= 1)
    assert not found.reached or found.near


@given(spends, some.sampled_from([DAY, APP, WORK]), some.integers(0, 9))
def test_no_budget_of_a_day_burns_an_attempt_or_blocks(spent, empty, attempts):
    """However many attempts were made: the task comes back with the next day."""
    status = budgets.status_of(empty, [(Payer("/srv/app", "work"), spent)])
    facts = Facts(
        run=1, started=True, claim=AgentClaim(), past=History(attempts=attempts), retry_limit=1,
        progress=False, jitter=0.5,
    )  # fmt: skip
    decision = decide(budgets.ended(status, NOW), facts, NOW)
    assert not decision.counts
    assert decision.settlement.not_before == budgets.next_day(NOW)
    assert decision.settlement.waits.why == decision.why


def test_a_task_that_spent_its_own_is_for_a_person_with_the_way_out():
    """Whether it lived or would have begun."""
    spent = Spend(tokens=1200, runs=3)
    status = budgets.of_task("fleet-a", Budget(tokens=1000), spent)
    facts = Facts(
        run=1, started=True, claim=AgentClaim(), retry_limit=3,
        progress=True, jitter=0,
    )  # fmt: skip
    lived = decide(budgets.ended(status, NOW), facts, NOW)
    candidate = TaskStart(
        task=a_task(id="fleet-a"),
        policy=Policy(budget=status.budget),
        facts=(TaskSpend(spent=spent),),
    )
    begun = TaskBudget().why_not(candidate, HomeMoment(now=NOW))
    assert lived.settlement == Blocked(waits=begun.blocks)
    assert isinstance(lived.settlement, Blocked)
    assert "1.2k of 1k tokens (120 %)" in lived.why
    assert "fleet retry fleet-a --budget '2k tokens'" in lived.why


@given(some.floats(0.01, 1000), some.floats(1, 300))
def test_the_way_out_of_a_spent_budget_leads_out(dollars, times):
    """However far over it went."""
    spent = Spend(usd=dollars * times)
    way = budgets.of_task("fleet-a", Budget(usd=dollars), spent).way_out
    larger = read_budget(way.partition("'")[2].rstrip("'").replace(",", ""))
    assert not budgets.of_task("fleet-a", larger, spent).reached


@pytest.mark.parametrize("limit", ["day_budget", "project_budget", "account_budget"])
def test_a_session_that_a_day_cut_off_goes_on_and_is_not_scolded(limit):
    """As often as days end; its agent is told why, and not to do it in smaller steps."""
    last = an_ending(
        LimitExceeded(limit=limit), counts=False, why="spent", coder="claude", session_id="s1",
        tool_calls=3, resumed=True,
    )  # fmt: skip
    assert session_to_carry_on(last, make("claude")) == "s1"
    assert last_ending_words(last) == "spent"


def test_unknown_costs_are_told_beside_a_dollar_budget_only():
    """Tokens are counted whatever they cost."""
    unknown = spend_of(tokens=10, reported=None, estimated=None)
    assert unknown.unpriced == 1
    dollars = budgets.status_of(DAY, [(Payer(), unknown)])
    assert dollars.blind
    assert "and 1 run of unknown cost" in dollars.figures
    tokens = budgets.status_of(APP, [(Payer("/srv/app"), unknown)])
    assert not tokens.blind


def test_an_estimate_is_marked_and_a_told_cost_is_not():
    """A dollar of each is two, and the sum says that it is not all known for certain."""
    told = spend_of(tokens=1, reported=1.0, estimated=9.0)
    guessed = spend_of(tokens=1, reported=None, estimated=1.0)
    assert told.shown(Budget(usd=5)) == "$1.00"
    assert (told + guessed).shown(Budget(usd=5)) == "~$2.00"
    assert spend_of(tokens=1, reported=0.0, estimated=None).unpriced == 0


@pytest.fixture
def zone(monkeypatch):
    def be_in(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()
        return ZoneInfo(name)

    yield be_in
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"])
def test_the_next_day_begins_at_midnight_here(zone, name):
    """Also on days with 23 or 25 hours, and it is always still to come."""
    here = zone(name)
    for start in (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)):
        for hour in range(72):
            now = start + timedelta(hours=hour)
            then = budgets.next_day(now)
            assert then > now
            assert then - now <= timedelta(hours=25)
            local = then.astimezone(here)
            assert (local.hour, local.minute, local.second) == (0, 0, 0)
            assert budgets.day_of(now) != budgets.day_of(then)
            assert budgets.begins_a_day(then)
            assert not budgets.begins_a_day(then - timedelta(microseconds=1))
            assert not budgets.begins_a_day(then + timedelta(minutes=10))


@given(some.integers(0, 10**12))
def test_tokens_are_said_in_few_letters(count):
    """However many."""
    assert len(shown_tokens(count)) <= 6
