"""Receipts added up: what is not known stays unknown, and a handful makes no rate."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import get_args

import pytest
from click.testing import CliRunner

from fleet import config, control
from fleet.cli.cost.stats import command as stats
from fleet.cli.cost.stats import show as show_stats
from fleet.cli.cost.usage import command as usage
from fleet.cli.cost.usage import show as show_usage
from fleet.cli.run.status import rows
from fleet.control.status import fleet_status
from fleet.control.usage import EndedRun, RunEndKind, ended_runs, records, spent
from fleet.runs import receipt_json
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Closed, Finding, Finished, Outcome, Receipt, Released, Usage, Verdict
from tests.builders import a_run, an_ending

NOW = datetime.now(UTC)


def receipt(task="a", *, coder="claude", model="sonnet", tokens=100, cost=0.5, good=True, **more):
    made_up = Verdict(findings=(Finding(rule="no_tools", what="none"),))
    verdict = Verdict(checked=True) if good else made_up
    settled = {
        "task_id": f"fleet-{task}", "run": 1, "coder": coder, "model": model, "claim": "did it",
        "outcome": "Finished", "verdict": verdict, "cost_usd": cost,
        "usage": Usage(input=tokens, cache_read=tokens, output=tokens),
        "started_at": datetime.now(UTC), "project": "/srv/app",
    }  # fmt: skip
    return Receipt(**(settled | more))


def run(*about, good=True, counts=True, **more):
    """A run that closed its task, or one that failed and counted as an attempt."""
    found = receipt(*about, good=good, **more)
    return EndedRun(receipt=found, ending=ending(closed=good, counts=counts))


def ending(*, closed=True, counts=True):
    settlement = Closed(reason="did it") if closed else Released()
    return an_ending(Finished(), settlement, counts=counts, progress=True, at=NOW)


@pytest.fixture
def home(home, monkeypatch):
    """A home with some runs behind it."""
    home.config.write_text(config.default_text())
    monkeypatch.setenv("FLEET_HOME", str(home.path))
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest sets it

    def add(found):
        folder = home.task(found.task_id)
        folder.mkdir(parents=True, exist_ok=True)
        made = a_run(folder)
        receipt_json.write(made, found)
        write_ending(made, ending(closed=not found.verdict.findings))

    return home, add


def test_a_cost_that_nobody_told_is_not_nought():
    """It is counted as unknown, and what is known is not hidden by it."""
    (row,) = spent([run(cost=None), run(cost=2.0)], "coder")
    assert (row.cost_usd, row.unpriced, row.runs) == (2.0, 1, 2)


def test_what_closed_nothing_is_told_apart():
    """By the settlement: an unchecked claim closed nothing either."""
    unverifiable = EndedRun(receipt=receipt(), ending=ending(closed=False, counts=False))
    unsettled = EndedRun(receipt=receipt(), ending=None)
    (row,) = spent([run(), run(good=False), unverifiable, unsettled], "project")
    assert (row.usage.total, row.wasted_tokens, row.wasted_usd) == (1200, 900, 1.5)
    assert row.wasted_runs == 3


def test_a_retry_is_a_failed_attempt_by_the_settle_table():
    """A budget of the day or a refused login counts as no attempt; the last run is no retry."""
    found = [
        run("a", run=1, good=False),
        run("a", run=2, good=False, counts=False, outcome="LimitExceeded"),
        run("a", run=3, good=False, counts=False, outcome="Failed"),
        run("a", run=4, good=False, outcome="ContextFull"),
        run("a", run=5, coder="codex", model="gpt"),
        run("b", run=1, good=False, outcome="Stalled"),
    ]
    claude, codex = records(found)
    assert (claude.retries, claude.runs, claude.stalled) == (2, 5, 1)
    assert codex.retries == 0


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("coder", ["codex", "claude"]),
        ("model", ["codex gpt", "claude sonnet"]),
        ("task", ["fleet-b", "fleet-a"]),
        ("project", ["/srv/app"]),
    ],
)
def test_runs_are_added_up_by_what_is_asked_for(by, names):
    """The most first."""
    found = [run(), run("b", coder="codex", model="gpt", tokens=500)]
    assert [row.name for row in spent(found, by)] == names


def test_days_come_in_their_order():
    """However much was used on each."""
    days = [run(started_at=NOW - timedelta(days=back), tokens=back * 10) for back in (0, 3, 1)]
    names = [row.name for row in spent(days, "day")]
    assert names == sorted(names)
    assert len(names) == 3


@pytest.mark.parametrize("outcome", [kind.__name__ for kind in get_args(Outcome)])
def test_every_run_counts_in_exactly_one_kind_of_end(outcome):
    """No run vanishes from the table, whatever it ended with."""
    unclaimed = EndedRun(
        receipt=receipt(outcome=outcome, verdict=None, claim=None),
        ending=ending(closed=False, counts=True),
    )
    found = [unclaimed, run("b", good=False, outcome=outcome), run("c", outcome=outcome)]
    (row,) = records(found)
    assert sum(getattr(row, kind) for kind in get_args(RunEndKind)) == row.runs == 3
    assert row.accepted == 1
    assert row.unclaimed == (outcome == "Finished")


def test_a_handful_makes_no_rate():
    """Four tasks say nothing; five are told with their number."""
    few = [run(str(number)) for number in range(4)]
    (row,) = records(few)
    assert (row.tasks, row.checked, row.checked_rate, row.cost_per_checked) == (4, 4, None, None)
    (row,) = records([*few, run("5", good=False)])
    assert (row.checked_rate, row.cost_per_checked, row.rejected) == (0.8, 2.5 / 4, 1)


def test_a_retried_task_is_one_task():
    """The runs that it took are told beside it."""
    tasks = [run(str(number)) for number in range(5)]
    (row,) = records([*tasks, run("0", good=False)])
    assert (row.tasks, row.runs, row.checked, row.runs_per_task) == (5, 6, 5, 1.2)


def test_checked_and_unchecked_are_never_added():
    """Only a check shows that the work is done; unchecked work costs no checked task."""
    proven = [run(str(number)) for number in range(3)]
    believed = [run(f"b{number}", verdict=Verdict(), cost=9.0) for number in range(2)]
    (row,) = records([*proven, *believed])
    assert (row.checked, row.unchecked, row.checked_rate, row.unchecked_rate) == (3, 2, 0.6, 0.4)
    assert row.cost_per_checked == 0.5
    (all_runs,) = spent([*proven, *believed], "coder")
    assert (all_runs.checked, all_runs.unchecked) == (3, 2)


def test_the_tables_are_printed(home):
    """With bars, and the words for what is not known."""
    _, add = home
    add(receipt(cost=None))
    add(receipt("b", coder="codex", model="gpt", tokens=1000))
    shown = CliRunner().invoke(usage, []).output
    assert "codex" in shown
    assert "unknown" in shown
    assert "████" in shown
    assert "claude sonnet" in CliRunner().invoke(stats, []).output


def test_only_what_began_since_is_counted(home):
    """A span, or a date."""
    place, add = home
    add(receipt(started_at=NOW - timedelta(days=10)))
    add(receipt("b"))
    fleet = SimpleNamespace(home=place, is_shared=False)
    assert len(ended_runs(fleet, NOW - timedelta(days=1))) == 1
    assert "fleet-a" not in CliRunner().invoke(usage, ["--by", "task", "--since", "7d"]).output
    assert "fleet-a" in CliRunner().invoke(usage, ["--by", "task", "--since", "2020-01-01"]).output
    assert "neither a span" in str(CliRunner().invoke(usage, ["--since", "soon"]).exception)


def test_before_anything_ran_it_says_so(home):
    """No empty table."""
    assert "No run has ended yet" in CliRunner().invoke(usage, []).output
    told = json.loads(CliRunner().invoke(usage, ["--json"]).output)
    assert (told["rows"], told["budgets"], told["total"]["runs"]) == ([], [], 0)


def test_an_estimate_is_marked_and_never_taken_for_the_clis_word(home):
    """`~` in the table; in JSON the two stand apart, and so does an unknown cost."""
    _, add = home
    add(receipt(cost=None, estimated_usd=0.124))
    shown = CliRunner().invoke(usage, []).output
    assert "~$0.12" in shown
    add(receipt("b", cost=2.0))
    add(receipt("c", cost=None, good=False, coder="agy"))
    told = json.loads(CliRunner().invoke(usage, ["--json"]).output)["rows"]
    (mine,) = [row for row in told if row["name"] == "claude"]
    assert (mine["cost_usd"], mine["estimated_usd"], mine["estimated"]) == (2.0, 0.124, 1)
    shown = CliRunner().invoke(usage, []).output
    assert "~$2.12+?" in shown
    assert "50% of the input was cached" in shown
    assert "300 tokens went into 1 run without accepted work" in shown
    assert "the cost of 1 run is not known" in shown


def test_what_is_known_of_a_run_that_was_cut_off_is_shown(home):
    """Its cost is not known to the end, and what it had used by then is no secret."""
    _, add = home
    add(receipt(cost=None, estimated_usd=0.3, good=False, partial=True))
    told = CliRunner().invoke(usage, ["--by", "task"]).output
    assert told.count("~$0.30+?") == 2
    assert "+?: the cost of 1 run is not known" in told
    assert "unknown" not in told


def test_runs_are_added_up_by_account():
    """Without one it was the coder's own login."""
    found = [run(account="work"), run("b", tokens=1)]
    assert [row.name for row in spent(found, "account")] == ["work", "claude"]


def test_budgets_are_shown_against_use(home):
    """With a bar each, also where nothing has run."""
    place, add = home
    text = config.default_text(day_budget="$20")
    place.config.write_text(f'{text}\n[projects."/srv/app"]\nday_budget = "200 tokens"\n')
    assert "$0.00 of $20 (0 %)" in CliRunner().invoke(usage, []).output
    add(receipt(cost=5.0))
    shown = CliRunner().invoke(usage, []).output
    assert "$5.00 of $20 (25 %)" in shown
    assert "300 of 200 tokens (150 %): spent, to go on today: fleet config set --project" in shown
    told = json.loads(CliRunner().invoke(usage, ["--json"]).output)["budgets"]
    assert [(each["scope"], each["percent"], each["reached"]) for each in told] == [
        ("day", 25, False),
        ("project", 150, True),
    ]
    seen = fleet_status(control.opened(), datetime.now().astimezone())
    lines = [value for name, value in rows(seen, datetime.now().astimezone()) if name == "budget"]
    assert lines[0] == "the day's budget: $5.00 of $20 (25 %)"
    assert "spent, nothing starts until tomorrow" in lines[1]


def test_prices_are_listed_with_a_persons_own_first(home):
    """And say that they are a starting point."""
    place, _ = home
    text = config.default_text()
    place.config.write_text(f'{text}\n[prices."my-*"]\ninput = 2\noutput = 4\n')
    shown = CliRunner().invoke(usage, ["--prices"]).output.splitlines()
    assert shown[1].split() == ["my-*", "2", "4", "2", "2", "(yours)"]
    assert "a starting point" in shown[-1]
    assert json.loads(CliRunner().invoke(usage, ["--prices", "--json"]).output)["claude-sonnet-4-5"]


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 10_000])
@pytest.mark.parametrize("by", ["coder", "project", "day"])
def test_the_tables_fit_the_terminal(columns, by, capsys):
    """No line is broken by its edge, and what matters most stays: tokens and cost."""
    found = [run(), run("b", project="/srv/a/very/long/way/to/another/project/of/ours")]
    show_usage(found, by, columns)
    lines = capsys.readouterr().out.splitlines()
    table = lines[: 1 + len(spent(found, by))]
    assert max(map(len, table)) <= columns
    assert all(word in table[0] for word in ("tokens", "cost"))
    assert ("█" in table[1]) == (columns > 100 or (columns >= 80 and by != "project"))
    show_stats(records(found), columns)
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= columns
    assert "checked  unchecked" in told


def test_tokens_that_nobody_told_are_not_nought(home):
    """A CLI may tell none: that is a question mark, in tables and in sums."""
    _, add = home
    add(receipt(usage=Usage()))
    told = CliRunner().invoke(usage).output
    assert told.splitlines()[1].split()[2:6] == ["?"] * 4
    assert "an unknown number of tokens in 1 run, $0.50" in told
    assert CliRunner().invoke(stats).output.splitlines()[1].endswith(" ?")


def test_stats_show_the_number_behind_each_rate(home):
    """As words and as JSON."""
    _, add = home
    for number in range(5):
        add(receipt(str(number), good=number > 0))
    said = CliRunner().invoke(stats, []).output
    assert "4 (80%)" in said
    assert "80%" in said
    assert '"retries": 0' in CliRunner().invoke(stats, ["--json"]).output


def test_runs_whose_tokens_are_not_all_known_are_counted():
    """The sum is of what is known, and says of how many runs it is not the whole."""
    found = [run("a"), run("b", partial=True), run("c", tokens=0)]
    (row,), (record,) = spent(found, "coder"), records(found)
    assert (row.usage.total, row.uncounted) == (600, 2)
    assert (record.tokens, record.uncounted) == (600, 2)
