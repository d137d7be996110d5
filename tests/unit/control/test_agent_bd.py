"""What an agent can say of its own task through `bd`, and what it cannot do to it."""

import json

import pytest

from fleet.control.agent_bd import record_claim
from fleet.errors import BadInput
from fleet.runs.agent_claim import AgentClaim, read


@pytest.fixture
def run(home):
    folder = home.task("fleet-abc") / "runs" / "1"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def env(run):
    home = run.parents[3]
    return {
        "FLEET_HOME": str(home),
        "FLEET_TASK_ID": "fleet-abc",
        "FLEET_RUN_DIR": str(run),
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("close fleet-abc --reason wrote", AgentClaim(done="wrote")),
        ("close abc -r wrote", AgentClaim(done="wrote")),
        ("close --reason=wrote -- fleet-abc", AgentClaim(done="wrote")),
        ("done fleet-abc all of it", AgentClaim(done="all of it")),
        ("close fleet-abc", AgentClaim(done="Closed")),
        ("update fleet-abc --status closed", AgentClaim(done="Closed")),
        ("update fleet-abc --status blocked --notes QUESTION", AgentClaim(blocked="QUESTION")),
        ("update fleet-abc -s blocked --append-notes Q", AgentClaim(blocked="Q")),
        ("update fleet-abc --status blocked", AgentClaim(blocked="")),
    ],
)
def test_a_word_about_the_own_task_is_recorded(run, env, line, said):
    """It reaches the supervisor as a claim, on every queue and from inside a sandbox."""
    assert record_claim(line.split(), env)
    assert read(run) == said


@pytest.mark.parametrize(
    "line", ["reopen fleet-abc", "update fleet-abc --status open", "update fleet-abc --claim"]
)
def test_a_claim_can_be_taken_back(run, env, line):
    """The last word counts."""
    record_claim(["close", "fleet-abc"], env)
    assert record_claim(line.split(), env)
    assert read(run) == AgentClaim()


@pytest.mark.parametrize(
    "line",
    [
        "close fleet-xyz",
        "update fleet-abc --notes progress",
        "update fleet-abc --add-label x",
        "show fleet-abc",
        "comment fleet-abc hello",
        "list",
    ],
)
def test_everything_else_is_for_the_queue(run, env, line):
    """Other tasks, and other words about this one."""
    assert record_claim(line.split(), env) is None
    assert read(run) == AgentClaim()


@pytest.mark.parametrize("verb", ["assign", "defer", "delete", "unclaim"])
def test_an_agent_cannot_take_its_task_away_from_its_own_run(run, env, verb):
    """It would lose the lease that it works under."""
    with pytest.raises(BadInput, match="the task of this run"):
        record_claim([verb, "fleet-abc"], env)


def test_the_own_task_is_closed_by_itself(env):
    """A line that names others too is refused whole, so that nothing is half done."""
    with pytest.raises(BadInput, match="takes only this run's own task"):
        record_claim(["close", "fleet-abc", "fleet-xyz"], env)


@pytest.mark.parametrize("line", ["close --nonsense fleet-abc", "close abc --continue"])
def test_a_line_about_the_own_task_that_cannot_be_read_is_refused(env, line):
    """The queue must not carry out what was not understood here."""
    with pytest.raises(BadInput, match="unknown flag"):
        record_claim(line.split(), env)


def test_json_is_answered_with_json(env):
    """An array, as bd gives it."""
    (shape,) = json.loads(record_claim(["close", "fleet-abc", "--json"], env))
    assert (shape["id"], shape["status"]) == ("fleet-abc", "closed")


@pytest.mark.parametrize("missing", ["FLEET_TASK_ID", "FLEET_RUN_DIR"])
def test_outside_of_a_run_nothing_is_recorded(run, env, missing):
    """A person's close is a close."""
    del env[missing]
    assert record_claim(["close", "fleet-abc"], env) is None


def test_another_tasks_run_directory_is_not_believed(run, env, tmp_path):
    """The directory must be the task's own."""
    assert record_claim(["close", "fleet-abc"], env | {"FLEET_RUN_DIR": str(tmp_path)}) is None
    assert record_claim(["close", "fleet-x"], env | {"FLEET_TASK_ID": "fleet-x"}) is None


def test_the_word_bears_the_mark_of_the_run_that_said_it(run, env):
    """So that no other run's claim is taken for this run's."""
    record_claim(["close", "fleet-abc"], env | {"FLEET_RUN_ID": "me.fleet-abc.1"})
    assert read(run).by == "me.fleet-abc.1"
    assert read(run, by="me.fleet-abc.1").done == "Closed"
    assert read(run, by="me.fleet-abc.2") == AgentClaim()
