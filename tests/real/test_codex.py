"""The real Codex, driven by its coder, against a model with a script."""

import time
from datetime import UTC, datetime

import pytest

from fleet.coders import make
from fleet.coders.base import Options
from fleet.schemas import ContextFull, Failed, Finished, RateLimit, RateLimited, Usage
from tests.real import agents
from tests.scripted_model import Call, Refuse, Say, ScriptedModel, Shell

SETTINGS = """
model_provider = "script"
[model_providers.script]
name = "script"
base_url = "{url}/v1"
env_key = "CODEX_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


@pytest.fixture
def desk():
    with agents.desk("codex") as found:
        yield found


def work(desk, model, **options):
    account = desk.home / "codex"
    account.mkdir(exist_ok=True)
    (account / "config.toml").write_text(SETTINGS.format(url=model.url), encoding="utf-8")
    coder = make("codex", "gpt-5", Options(**options))
    return desk.work(coder, CODEX_HOME=str(account), CODEX_API_KEY="script")


def windows(used, resets):
    return {
        "x-codex-primary-used-percent": used,
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(resets),
    }


def test_a_task_is_worked_on_noted_and_closed_under_edit(desk):
    """From inside the sandbox: the project, the artifacts, and the run's own `bd`."""
    outside = desk.root / "outside.txt"
    with ScriptedModel(
        Shell(command="echo hi > a.txt"),
        Shell(command='echo "1. done" > "$FLEET_ARTIFACT_DIR/PLAN_AND_STATUS.md"'),
        Shell(command="bd close fleet-abc --reason 'wrote it'"),
        Shell(command=f"echo no > {outside}; echo tried"),
        Say(text="All done."),
    ) as model:
        outcome, reading = work(desk, model)

    assert outcome == Finished(text="All done.")
    assert (desk.project / "a.txt").read_text() == "hi\n"
    assert (desk.artifacts / "PLAN_AND_STATUS.md").read_text() == "1. done\n"
    assert desk.said_to_bd == ["close fleet-abc --reason wrote it"]
    assert reading.tools.count == 4
    assert reading.tokens.turns == 5
    assert reading.tokens.usage == Usage(input=6000, cache_read=25_000, output=210)
    assert reading.tokens.context_tokens == 6242
    assert reading.tokens.context_window > 100_000
    assert reading.version == "0.166.0"
    assert "Add a parser" in str(model.requests[0]["input"])
    assert not outside.exists()


def test_what_auto_declines_is_a_denial(desk):
    """The CLI's own reviewer answers for the person who is not there."""
    leave = {"cmd": "touch /x", "sandbox_permissions": "require_escalated", "justification": "x"}
    with ScriptedModel(Call(tool="exec_command", input=leave), Say(text="Gave up.")) as model:
        outcome, _ = work(desk, model, permissions="auto")
    assert outcome == Finished(text="Gave up.", denied=("shell",))


def test_bypass_has_no_sandbox(desk):
    """What a machine that is a sandbox itself is for."""
    outside = desk.root / "outside.txt"
    with ScriptedModel(Shell(command=f"echo yes > {outside}"), Say()) as model:
        outcome, _ = work(desk, model, permissions="bypass")
    assert isinstance(outcome, Finished)
    assert outside.exists()


def test_a_refused_start_tells_when_to_come_back(desk):
    """Stdout has the words; the end of the window stands in the rollout."""
    resets = int(time.time()) + 3600
    body = {"type": "usage_limit_reached", "message": "x", "plan_type": "plus", "resets_at": resets}
    with ScriptedModel(
        Refuse(status=429, headers=windows("100.0", resets), body={"error": body})
    ) as model:
        outcome, _ = work(desk, model)
    limit = RateLimit(
        kind="five_hour",
        status="rejected",
        resets_at=datetime.fromtimestamp(resets, UTC),
        used_percent=100.0,
    )
    assert outcome.limit == limit
    assert "try again at" in outcome.detail


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (401, {"message": "bad key", "code": "invalid_api_key"}, "auth"),
        (404, {"message": "no such thing", "code": "model_not_found"}, "model_not_found"),
        (429, {"message": "pay", "type": "insufficient_quota"}, "billing"),
    ],
)
def test_a_refusal_has_its_own_reason(desk, status, error, reason):
    """What a retry can heal, and what it cannot, are told apart."""
    with ScriptedModel(Refuse(status=status, body={"error": error})) as model:
        outcome, _ = work(desk, model)
    assert isinstance(outcome, Failed)
    assert outcome.reason == reason


def test_a_broken_server_is_an_outage(desk):
    """No task is to blame for it."""
    body = {"error": {"message": "boom", "type": "server_error"}}
    with ScriptedModel(Refuse(status=500, body=body)) as model:
        outcome, _ = work(desk, model)
    assert isinstance(outcome, RateLimited)
    assert outcome.limit.kind == "outage"


def test_a_context_that_is_full_is_full_however_the_vendor_says_it(desk):
    """As a body of status 400 it was taken for a bad request, and counted."""
    body = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    with ScriptedModel(Refuse(status=400, body=body)) as model:
        outcome, _ = work(desk, model)
    assert isinstance(outcome, ContextFull)


def test_a_session_is_carried_on(desk):
    """The same thread, its memory, and only this run's tokens."""
    with ScriptedModel(Say(text="The word is plum.")) as model:
        _, first = work(desk, model)
        outcome, reading = work(desk, model, resume=first.session_id, last_ending="It was stopped.")
    assert isinstance(outcome, Finished)
    assert reading.session_id == first.session_id
    assert reading.tokens.usage == first.tokens.usage
    assert reading.tokens.session_usage.total == 2 * first.tokens.usage.total
    talk = str(model.requests[-1]["input"])
    assert "The word is plum." in talk
    assert "It was stopped." in talk
