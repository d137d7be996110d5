"""The real Claude Code, driven by its coder, against a model with a script."""

import time
import uuid
from datetime import UTC, datetime

import pytest

from fleet.coders import make
from fleet.coders.base import Options
from fleet.schemas import ContextFull, Failed, Finished, RateLimit, RateLimited
from tests.conftest import only_slow
from tests.real import agents
from tests.scripted_model import Call, Refuse, Say, ScriptedModel, Shell, Stall, Tokens

#: A login of a subscription: only that is told of its windows.
LOGIN = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-script", "CLAUDE_CODE_MAX_RETRIES": "0"}


@pytest.fixture
def desk():
    with agents.desk("claude") as found:
        yield found


def work(desk, model, interrupt=None, **options):
    config = str(desk.home / "claude")
    coder = make("claude", "sonnet", Options(**options))
    login = LOGIN | {"ANTHROPIC_BASE_URL": model.url, "CLAUDE_CONFIG_DIR": config}
    return desk.work(coder, interrupt=interrupt, **login)


def error(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}}


def windows(status, used, resets):
    return {
        "anthropic-ratelimit-unified-status": status,
        "anthropic-ratelimit-unified-reset": str(resets),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": status,
        "anthropic-ratelimit-unified-5h-reset": str(resets),
        "anthropic-ratelimit-unified-5h-utilization": used,
    }


def test_a_task_is_worked_on_noted_and_closed_under_edit(desk):
    """Files in the project, notes in the artifacts, and the word that it is done."""
    plan = desk.artifacts / "PLAN_AND_STATUS.md"
    with ScriptedModel(
        Call(tool="Write", input={"file_path": str(desk.project / "a.txt"), "content": "hi"}),
        Call(tool="Write", input={"file_path": str(plan), "content": "1. done"}),
        Shell(command='bd close fleet-abc --reason "wrote it; checked it"'),
        Say(text="All done."),
    ) as model:
        outcome, reading = work(desk, model)

    assert outcome == Finished(text="All done.")
    assert (desk.project / "a.txt").read_text() == "hi"
    assert plan.read_text() == "1. done"
    assert desk.said_to_bd == ["close fleet-abc --reason wrote it; checked it"]
    assert [path.name for path in desk.project.iterdir()] == ["a.txt"]
    assert uuid.UUID(reading.session_id)
    assert reading.version == "2.1.197"
    assert (reading.tools.count, reading.tools.failed, reading.tokens.turns) == (3, 0, 4)
    assert reading.tokens.usage.output == 4 * 42
    assert reading.tokens.context_tokens == 6200
    assert reading.tokens.context_window == 200_000
    assert "Add a parser" in str(model.requests[0]["messages"])


@only_slow
def test_a_tool_that_is_not_allowed_is_denied_and_named(desk):
    """The run goes on and ends well: only the denial tells."""
    with ScriptedModel(Shell(command="curl http://localhost:1"), Say(text="Gave up.")) as model:
        outcome, reading = work(desk, model)
    assert outcome == Finished(text="Gave up.", denied=("Bash",))
    assert reading.tools.failed == 1


@only_slow
def test_bypass_allows_what_edit_denies(desk):
    """Also as root, where the CLI asks for a word."""
    command = "python3 -c 'print(6 * 7)'"
    with ScriptedModel(Shell(command=command), Say()) as model:
        outcome, reading = work(desk, model, permissions="bypass")
    assert outcome == Finished(text="Done.")
    assert reading.tools.failed == 0


def test_what_auto_declines_is_a_denial(desk):
    """The CLI's own reviewer answers for the person who is not there; fleet's words pass."""
    with ScriptedModel(
        Shell(command="bd show fleet-abc"),
        Shell(command="python3 -c 'print(6 * 7)'"),
        Say(text="Gave up."),
    ) as model:
        outcome, _ = work(desk, model, permissions="auto")
    assert outcome == Finished(text="Gave up.", denied=("Bash",))
    assert desk.said_to_bd == ["show fleet-abc"]


def test_a_refused_start_tells_when_to_come_back(desk):
    """No retry is wasted on a window that is used up."""
    resets = int(time.time()) + 3600
    with ScriptedModel(
        Refuse(
            status=429,
            headers=windows("rejected", "1.0", resets) | {"retry-after": "3600"},
            body=error("rate_limit_error", "too much"),
        )
    ) as model:
        outcome, _ = work(desk, model)
    limit = RateLimit(
        kind="five_hour", status="rejected", resets_at=datetime.fromtimestamp(resets, UTC)
    )
    assert outcome.limit == limit
    assert "session limit" in outcome.detail
    assert len(model.requests) == 1


def test_a_window_that_fills_up_is_told_while_the_work_goes_on(desk):
    """The gauge moves before the wall is hit."""
    headers = windows("allowed_warning", "0.91", int(time.time()) + 3600)
    headers["anthropic-ratelimit-unified-5h-surpassed-threshold"] = "0.9"
    with ScriptedModel(Say(headers=headers)) as model:
        outcome, reading = work(desk, model)
    assert isinstance(outcome, Finished)
    limit = reading.limits["five_hour"]
    assert (limit.status, limit.used_percent) == ("warning", 91.0)


def test_a_broken_server_is_an_outage(desk):
    """With its own retries off, the CLI gives up at once."""
    body = error("api_error", "boom")
    with ScriptedModel(Refuse(status=500, body=body)) as model:
        outcome, _ = work(desk, model)
    assert isinstance(outcome, RateLimited)
    assert outcome.limit.kind == "outage"
    assert "boom" in outcome.detail


def test_a_prompt_that_is_too_long_is_a_full_context(desk):
    """Another session is needed, not another try."""
    body = error("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
    with ScriptedModel(
        Shell(command="bd show fleet-abc", tokens=Tokens(fresh=1000, cached=150_000)),
        Refuse(status=400, body=body),
    ) as model:
        outcome, reading = work(desk, model)
    assert isinstance(outcome, ContextFull)
    assert reading.tokens.context_peak == 151_000


def test_an_interrupted_run_is_no_success_although_it_exits_0(desk):
    """While it waits for its model the CLI goes with exit 0, and without a word or with one."""
    with ScriptedModel(Stall()) as model:
        outcome, reading = work(desk, model, interrupt=model.asked)
    assert isinstance(outcome, Failed)
    said = {None: "no_ending", "error": "aborted"}  # whichever its own watch on the signal gets to
    assert outcome.reason == said[reading.terminal]


@only_slow
def test_a_session_is_carried_on(desk):
    """The same session, its memory, and the note on how the last run ended."""
    with ScriptedModel(Say(text="The word is plum.")) as model:
        first = work(desk, model)[1].session_id
        outcome, reading = work(desk, model, resume=first, last_ending="It was stopped.")
    assert isinstance(outcome, Finished)
    assert reading.session_id == first
    talk = str(model.requests[-1]["messages"])
    assert "The word is plum." in talk
    assert "It was stopped." in talk


def test_a_session_that_is_gone_says_so(desk):
    """The supervisor starts afresh instead of trying again."""
    with ScriptedModel(Say()) as model:
        outcome, _ = work(desk, model, resume=str(uuid.uuid4()))
    assert isinstance(outcome, Failed)
    assert outcome.reason == "session_not_found"
    assert model.requests == []
