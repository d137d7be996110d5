"""Budgets with real processes: what is spent stops what it concerns, says why, and no more."""

import json
from datetime import datetime, timedelta

import pytest

from fleet import config
from fleet.cli.run.run import NEEDS_YOU
from fleet.runs import receipt_json
from fleet.runs.outcome_history import read_ending
from fleet.schemas import Budget, LimitExceeded
from tests.conftest import only_slow
from tests.story.scene import ACTOR, Scene

#: The actor, and lines that tell of tokens, or of what they cost.
SPENDER = f"""{ACTOR}
[[event]]
when = {{ type = "spend" }}
kind = "usage"
model = "model"
tokens = {{ input = "input", output = "output" }}
cost_usd = "cost"
"""
NEVER = "await:never"
WORK = 'tool say:{"type":"text","text":"Done."} done end'


def spends(dollars, *, model="claude-sonnet-4-5"):
    """A line that tells of so many tokens as cost this much."""
    line = {"type": "spend", "model": model, "input": round(dollars / 3 * 1_000_000)}
    return f"say:{json.dumps(line, separators=(',', ':'))}"


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    made.coder("actor", SPENDER)
    yield made
    made.close()


def tomorrow():
    day = datetime.now().astimezone().date() + timedelta(days=1)
    return datetime.combine(day, datetime.min.time()).astimezone()


def kinds(scene, task_id):
    return [json.loads(line)["kind"] for line in scene.lines(task_id, "events.jsonl")]


def test_a_spent_day_starts_nothing_and_goes_on_once_it_is_raised(scene):
    """Every surface says why; a larger budget in runtime.toml is enough to go on."""
    first = scene.add(f"{spends(6)} {WORK}")
    scene.supervise()
    scene.until_status(first, "closed")
    scene.configure(day_budget="$5")
    scene.until_logged("config")
    second = scene.add(WORK)
    scene.until_logged("budget_spent")
    told = "the day's budget"
    assert f"{told}: ~$6.00 of $5 (120 %): spent" in scene.fleet("status").stdout
    assert f"Nothing starts: {told} is spent" in scene.fleet("tasks").stderr
    assert "fleet config set day_budget" in scene.fleet("show", second).stdout
    assert "~$6.00 of $5 (120 %)" in scene.fleet("usage").stdout
    assert (scene.status(second), scene.runs(second)) == ("open", [])
    scene.configure(day_budget="$50")
    scene.until_status(second, "closed")
    assert len(scene.log("budget_spent")) == 1


def test_a_spent_project_waits_for_midnight_and_others_go_on(scene, tmp_path):
    """Its tasks are put off until the next day; a larger budget takes them back at once."""
    (other := tmp_path / "other").mkdir()
    scene.supervise()
    scene.until_status(scene.add(f"{spends(6)} {WORK}"), "closed")
    done = scene.fleet("config", "set", "--project", str(scene.project), "day_budget=1M")
    assert done.returncode == 0, done.stderr
    scene.until_logged("config")
    mine = scene.add(WORK)
    theirs = scene.add(WORK, cwd=other)
    scene.until_status(theirs, "closed")
    waits = scene.until(lambda: (task := scene.task(mine)).not_before and task)
    assert (waits.status, waits.not_before) == ("open", tomorrow())
    assert "2M of 1M tokens (200 %)" in scene.fleet("show", mine).stdout
    told = scene.fleet("tasks").stderr
    assert f"The day's budget of {scene.project} is spent" in told
    assert "Nothing starts" not in told
    scene.fleet("config", "set", "--project", str(scene.project), "day_budget=none")
    scene.until_status(mine, "closed")
    assert len(scene.runs(mine)) == 1


def test_a_supervisor_does_not_wait_until_midnight_to_be_idle(scene):
    """`--until-idle` ends, and says what the tasks that are left wait for."""
    first = scene.add(f"{spends(6)} {WORK}", title="first")
    second = scene.add(WORK, title="second")
    scene.configure(max_concurrent=1)
    scene.fleet("config", "set", "--project", str(scene.project), "day_budget=$5")
    assert scene.supervise("--until-idle").wait(30) == NEEDS_YOU
    assert (scene.status(second), scene.runs(second)) == ("open", [])
    assert len(scene.runs(first)) == 1
    assert f"the day's budget of {scene.project} is spent" in scene.log("idle")[-1]["text"]


def test_a_spent_account_gets_no_work_and_the_next_one_does(scene):
    """Its tasks go to another login of the coder; where there is none they wait for the day."""
    key = 'coder = "actor"\nsecret = "env:HOME"\nvariable = "ACTOR_KEY"\n'

    def accounts(text):
        fresh = scene.home.path / "runtime.new"
        fresh.write_text(f"{config.default_text(**scene.settings)}\n{text}")
        fresh.replace(scene.home.config)

    accounts(f'[accounts.first]\n{key}day_budget = "$5"\n')
    scene.supervise()
    first = scene.add(f"{spends(6)} {WORK}")
    scene.until_status(first, "closed")
    second = scene.add(WORK)
    waits = scene.until(lambda: (task := scene.task(second)).not_before and task)
    assert tomorrow() <= waits.not_before < tomorrow() + timedelta(minutes=10)
    scene.until(lambda: "account first: ~$6.00 of $5" in scene.fleet("status").stdout)
    accounts(f'[accounts.first]\n{key}day_budget = "$5"\n[accounts.spare]\n{key}')
    scene.until_status(second, "closed")
    assert receipt_json.read(scene.run(first)).account == "first"
    assert receipt_json.read(scene.run(second)).account == "spare"


def test_a_living_run_ends_with_the_day_and_no_attempt_is_burned(scene):
    """It is told of near the end, stopped at it, and carried on when there is room again."""
    scene.configure(day_budget="$5", retry_limit=1)
    task = scene.add(f"{spends(4.5)} await:more {spends(2)} {NEVER} | {WORK}")
    scene.supervise()
    scene.until_logged("budget_near")
    (scene.folder(task) / "more").touch()
    scene.until_logged("budget")
    back = scene.until(lambda: (found := scene.task(task)).not_before and found)
    assert (back.status, back.not_before) == ("open", tomorrow())
    ending = read_ending(scene.run(task))
    assert isinstance(ending.outcome, LimitExceeded)
    assert (ending.outcome.limit, ending.counts, ending.attempts) == ("day_budget", False, 0)
    assert {"fleet_budget_near", "fleet_budget"} <= set(kinds(scene, task))
    assert "day_budget" in scene.fleet("show", task).stdout
    scene.configure(day_budget="50M")
    scene.until_status(task, "closed")
    assert len(scene.log("budget_near")) == 1


def test_a_budget_that_is_near_as_a_run_ends_is_an_event_of_that_run(scene):
    """Many CLIs tell what a run cost in their last line only."""
    scene.configure(day_budget="$5")
    task = scene.add(f"await:go {spends(4.5)} {WORK}")
    scene.supervise()
    scene.until((scene.folder(task) / "runs/1/progress.json").exists)
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    assert "fleet_budget_near" in kinds(scene, task)
    assert len(scene.log("budget_near")) == 1


def test_a_task_that_spent_its_budget_is_blocked_with_the_way_out(scene):
    """The way is the one that it names; without a larger budget it is refused."""
    task = scene.add(f"{spends(6)} end | {WORK}", budget=Budget(usd=5))
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert "fleet retry" in blocked.notes
    assert "--budget '$10'" in blocked.notes
    shown = scene.fleet("show", task).stdout
    assert "~$6.00 of $5 (120 %)" in shown
    refused = scene.fleet("retry", task)
    assert refused.returncode == 7
    assert "--budget '$10'" in refused.stderr
    assert scene.fleet("retry", task, "--budget", "$10").returncode == 0
    scene.until_status(task, "closed")
    assert len(scene.runs(task)) == 2


@pytest.mark.parametrize(
    "round_",
    [f"{spends(2)} tool end", f"{spends(2)} artifact:again context:990 {NEVER}"],
    ids=["nothing changes", "its plan changes for ever"],
)
def test_work_that_goes_round_is_stopped_by_what_it_spends(scene, round_):
    """Tries that lead nowhere, and sessions that fill up without end, which count as no try."""
    scene.configure(retry_limit=100, task_budget="$3")
    task = scene.add(round_)
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert "task_budget" in blocked.notes
    assert len(scene.runs(task)) == 2
    assert (scene.run(task).path / "receipt.json").exists()


def test_a_restart_forgets_nothing_that_was_spent(scene):
    """Nor does a supervisor that was killed, nor books that are gone or damaged."""
    first = scene.add(f"{spends(6)} {WORK}")
    supervisor = scene.supervise()
    scene.until_status(first, "closed")
    scene.kill(supervisor)
    scene.configure(day_budget="$5")
    waiting = scene.add(WORK)
    books = scene.home.path / "spent"

    def damage():
        for file in books.glob("*.jsonl"):
            file.write_text("no line of ours\n")

    def remove():
        for file in books.glob("*.jsonl"):
            file.unlink()

    for number, harm in enumerate((lambda: None, damage, remove), start=1):
        harm()
        assert "~$6.00 of $5" in scene.fleet("usage").stdout
        supervisor = scene.supervise("--until-idle")
        assert scene.until_ended(supervisor) == 0
        assert len(scene.log("budget_spent")) == number
        assert scene.runs(waiting) == []


@only_slow
def test_a_run_that_lives_through_a_restart_is_counted_once(scene):
    """While it lives by its stream, and afterwards by its receipt."""
    scene.configure(day_budget="$50")
    task = scene.add(f"{spends(6)} mark:spent await:go {spends(3)} {WORK}")
    supervisor = scene.supervise()
    scene.until_marked(task, "spent")
    scene.until(lambda: "~$6.00 of $50" in scene.fleet("usage").stdout)
    scene.kill(supervisor)
    scene.supervise()
    scene.until_logged("adopted")
    scene.until(lambda: "~$6.00 of $50" in scene.fleet("usage").stdout)
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    scene.until(lambda: "~$9.00 of $50" in scene.fleet("usage").stdout)


def test_a_run_that_is_stopped_without_a_supervisor_is_counted(scene):
    """What it spent is in its receipt, in the day's budget, and with its task and account."""
    scene.configure(day_budget="$50")
    task = scene.add(f"mark:up await:go {spends(6)} mark:spent {NEVER}")
    supervisor = scene.supervise()
    scene.until_marked(task, "up")
    scene.kill(supervisor)
    (scene.folder(task) / "go").touch()
    scene.until_marked(task, "spent")
    assert scene.fleet("stop", task).returncode == 0
    run = scene.run(task)
    ending, receipt = read_ending(run), receipt_json.read(run)
    assert (ending.spend.usd, ending.account, ending.coder) == (6.0, "actor", "actor")
    assert (receipt.outcome, receipt.estimated_usd) == ("Stopped", 6.0)
    assert "~$6.00 of $50" in scene.fleet("usage").stdout
    for by, name in (("task", task), ("account", "actor")):
        rows = json.loads(scene.fleet("usage", "--by", by, "--json").stdout)["rows"]
        assert [(row["name"], row["estimated_usd"]) for row in rows] == [(name, 6.0)]
    assert kinds(scene, task)[-1] == "fleet_ended"
    scene.supervise("--until-idle").wait(30)
    assert scene.status(task) == "blocked"
    assert "~$6.00 of $50" in scene.fleet("usage").stdout


def test_the_receipt_tells_where_a_cost_comes_from(scene):
    """The CLI's own, an estimate, or nothing; never a nought that was not counted."""
    told = scene.add(
        f'say:{{"type":"spend","model":"claude-sonnet-4-5","input":9,"cost":0.5}} {WORK}'
    )
    worked_out = scene.add(f"{spends(3)} {WORK}")
    unknown = scene.add(f"{spends(3, model='nobody-knows')} {WORK}")
    absurd = scene.add(f'say:{{"type":"spend","input":-5,"output":1e30,"cost":"NaN"}} {WORK}')
    scene.configure(day_budget="$50")
    scene.supervise("--until-idle").wait(30)
    costs = {
        task: (found.cost_usd, found.estimated_usd)
        for task in (told, worked_out, unknown, absurd)
        if (found := receipt_json.read(scene.run(task)))
    }
    assert costs == {
        told: (0.5, None),
        worked_out: (None, 3.0),
        unknown: (None, None),
        absurd: (None, None),
    }
    assert len(scene.log("budget_blind")) == 1
    assert "~$3.50 of $50 (7 %) and 2 runs of unknown cost" in scene.fleet("usage").stdout
    rows = {
        row["name"]: row
        for row in json.loads(scene.fleet("usage", "--by", "task", "--json").stdout)["rows"]
    }
    assert (rows[unknown]["unpriced"], rows[worked_out]["estimated"]) == (1, 1)


def test_a_persons_price_counts_from_the_moment_it_is_written(scene):
    """What lives and what ends is counted by it."""
    scene.supervise()
    scene.until_logged("started")
    text = scene.home.config.read_text()
    scene.home.config.write_text(f'{text}\n[prices."Nobody*"]\ninput = 1\noutput = 2\n')
    scene.until_logged("config")
    task = scene.add(f"{spends(3, model='nobody-knows')} {WORK}")
    scene.until_status(task, "closed")
    assert receipt_json.read(scene.run(task)).estimated_usd == 1.0
