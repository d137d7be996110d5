"""What real CLIs load in each context, and that everything of fleet works in all of them."""

from itertools import product
from pathlib import Path

import pytest

from tests import baggage
from tests.conftest import often, only_slow
from tests.real import agents
from tests.real.house import CLOSE, TASK, WORK, Gate, a_house
from tests.real.loaded import Request, asked
from tests.real.test_hooks import said
from tests.scripted_model import Say, ScriptedModel, Shell

CLIS = ("claude", "codex")
CONTEXTS = ("full", "project", "lean")
#: What fleet itself gives to every agent, and what codex has where there is any server.
FLEETS = {"mcp__fleet__ask_human", "mcp__fleet__report_progress", "mcp__fleet__propose_task"}
CODEX_FLEETS = {
    "mcp__fleet", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource",
}  # fmt: skip
LEAN = {
    "claude": {"Bash", "Read", "Edit", "Write"} | FLEETS,
    "codex": {"exec_command", "write_stdin"} | CODEX_FLEETS,
}


def test_full_is_what_claude_does_by_itself(requests):
    """The user's rules, skills, plugin and server, and the project's."""
    full = requests["claude", "full"]
    words = ("USER-RULE", "PROJECT-RULE", "poetry", "plug:shared-skill", "parsing")
    assert all(full.holds(*words))
    assert {"mcp__lookup__look_up_0", "mcp__projects__look_up_0"} <= full.tools


@only_slow
def test_project_keeps_what_is_the_projects_and_nothing_of_the_users(requests):
    """Its rules, skills and servers are there; not one of the user's is."""
    project = requests["claude", "project"]
    assert project.holds("PROJECT-RULE", "parsing") == [True, True]
    assert project.holds("USER-RULE", "poetry", "plug:shared-skill") == [False, False, False]
    assert "mcp__projects__look_up_0" in project.tools
    assert "mcp__lookup__look_up_0" not in project.tools


def test_lean_has_the_projects_rules_four_tools_and_fleets_own(requests):
    """No skill and no server of the user's or of the project's."""
    lean = requests["claude", "lean"]
    assert lean.holds("PROJECT-RULE", "USER-RULE", "poetry", "parsing", "look_up_0") == [
        True, False, False, False, False,
    ]  # fmt: skip
    assert lean.tools == LEAN["claude"]


@only_slow
def test_codex_has_the_same_contexts_but_for_its_users_rules(requests):
    """There is no setting against the AGENTS.md in its home."""
    full, project, lean = (requests["codex", context] for context in CONTEXTS)
    words = ("USER-RULE", "PROJECT-RULE", "poetry", "parsing")
    assert full.holds(*words) == [True, True, True, True]
    assert project.holds(*words) == [True, True, False, True]
    assert lean.holds(*words) == [True, True, False, False]
    assert {"mcp__lookup", "mcp__projects"} <= full.tools
    assert "mcp__lookup" not in project.tools
    assert "mcp__projects" in project.tools
    assert lean.tools == LEAN["codex"]


@pytest.mark.parametrize("cli", CLIS)
def test_each_context_is_smaller_than_the_one_before(requests, cli):
    """The lean one by far: claude's notes on memory, of half its size, stay out too."""
    full, project, lean = (requests[cli, context].size for context in CONTEXTS)
    assert full > project > lean
    assert lean < {"claude": 0.3, "codex": 0.6}[cli] * full


@pytest.mark.parametrize(
    ("cli", "tool", "server"),
    [
        ("claude", "WebFetch", "mcp__lookup__look_up_0"),
        ("codex", "view_image", "mcp__lookup"),
    ][: often(1, 2)],
)
def test_what_a_task_needs_is_loaded_in_a_lean_run(cli, tool, server):
    """A named tool and a named server of the user's."""
    found = asked(cli, "lean", needs=(f"tool:{tool}", "mcp:lookup")).tools
    assert {tool, server} <= found


@only_slow
@pytest.mark.parametrize(
    ("cli", "context"), list(product(CLIS, ("project", "lean")))[often(3, 0) :]
)
def test_an_agent_is_told_and_its_session_carried_on_in_every_context(cli, context, tmp_path):
    """Fleet's hook is there beside the user's settings or without them, and so is `resume`."""
    first, second = Gate(tmp_path, "first"), Gate(tmp_path, "second")
    gates = (Shell(command=first.command), Shell(command=second.command))
    with (
        ScriptedModel(*gates, WORK, CLOSE, Say()) as model,
        a_house(agents.cli_directory(cli), model.url) as house,
    ):
        _baggage(house, cli)
        house.configure(permissions="bypass", context=context)
        house.create(cli)
        supervisor = house.supervise("--until-idle")
        first.reached()
        house.fleet("tell", TASK, "Use the plum table.")
        first.open()
        second.reached()
        assert "Use the plum table." in said(model.requests[1])
        house.fleet("tell", "--now", TASK, "And the pear table.")
        assert supervisor.wait(90) == 0
        assert "And the pear table." in said(model.requests[2])
        assert house.task()["status"] == "closed"
        assert house.runs[1].spec().resumes == house.ending(1)["session_id"] != ""


@pytest.mark.parametrize("cli", CLIS[: often(1, 2)])
def test_a_lean_run_closes_its_task_and_may_do_no_more_than_a_full_one(cli):
    """The task asks for it itself; what `edit` denies stays denied."""
    with (
        ScriptedModel(Shell(command="touch /x-denied"), WORK, CLOSE, Say()) as model,
        a_house(agents.cli_directory(cli), model.url) as house,
    ):
        _baggage(house, cli)
        house.create(cli, "Write a.txt", "--load", "lean")
        assert house.supervise("--until-idle").wait(90) == 0
        assert house.task()["status"] == "closed"
        assert house.runs[0].spec().policy.context == "lean"
        assert not Path("/x-denied").exists()
        assert Request(model.requests[0]).tools <= LEAN[cli]


def _baggage(house, cli):
    baggage.for_project(house.project)
    fill = {"claude": baggage.for_claude, "codex": baggage.for_codex}[cli]
    fill(house.home.parent / cli)
