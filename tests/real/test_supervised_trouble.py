"""What the supervisor makes of real agent CLIs whose model refuses, breaks or falls silent."""

import time
from datetime import UTC, datetime, timedelta

from fleet.processes import process_identity
from tests.conftest import coders
from tests.real.house import CLOSE, TASK, WORK
from tests.real.test_claude import error
from tests.real.test_claude import windows as claude_windows
from tests.real.test_codex import windows as codex_windows
from tests.scripted_model import Refuse, Say, ScriptedModel, Shell, Stall

LOOK = Shell(command=f"bd show {TASK}")


def used_up(coder, resets):
    """The refusal of a window that is full until then."""
    if coder == "claude":
        headers, body = claude_windows("rejected", "1.0", resets), error("rate_limit_error", "x")
    else:
        reached = {"type": "usage_limit_reached", "message": "x", "plan_type": "plus"}
        headers, body = codex_windows("100.0", resets), {"error": reached | {"resets_at": resets}}
    return Refuse(status=429, body=body, headers=headers)


def broken(coder):
    """A server that fails for no fault of ours."""
    codex = {"error": {"message": "boom", "type": "server_error"}}
    body = error("api_error", "boom") if coder == "claude" else codex
    return Refuse(status=500, body=body)


def moment(text):
    return datetime.fromisoformat(text)


@coders("codex")
def test_a_limit_in_the_middle_of_the_work_is_waited_out_and_the_task_is_done(house, coder):
    """No attempt is counted, nothing is asked before the reset, and the next run closes it."""
    resets = []

    def refusal():
        resets.append(int(time.time()) + 5)
        return used_up(coder, resets[-1])

    with ScriptedModel(LOOK, refusal, WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        here.create(coder)
        here.fleet("run", "--until-idle")

        first, second = here.ending(1), here.ending(2)
        assert first["outcome"]["type"] == "RateLimited"
        assert first["outcome"]["limit"]["kind"] == "five_hour"
        assert first["tool_calls"] == 1
        assert (first["counts"], first["attempts"]) == (False, 0)
        ended, back = moment(first["at"]), moment(first["settlement"]["not_before"])
        reset = datetime.fromtimestamp(resets[0], UTC)
        assert moment(first["outcome"]["limit"]["resets_at"]) == reset
        # Thrice the pause of a retry is the least, should this machine have slept over the reset.
        soonest = max(reset, ended + timedelta(seconds=3))
        assert soonest <= back <= soonest + (soonest - ended) / 10

        assert second["outcome"]["type"] == "Finished"
        began = [moment(event["ts"]) for event in here.events("fleet_started")]
        assert len(began) == 2
        assert began[1] >= back
        assert len(model.requests) == 5
        assert here.task()["status"] == "closed"
        assert here.alive() == []


@coders("codex")
def test_a_broken_server_costs_no_attempt_and_is_tried_again(house, coder):
    """The account rests, one task tries it again, and closes its task."""
    with ScriptedModel(broken(coder), WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(retry_limit=1)
        here.create(coder)
        here.fleet("run", "--until-idle")

        first, second = here.ending(1), here.ending(2)
        assert first["outcome"]["type"] == "RateLimited"
        assert first["outcome"]["limit"]["kind"] == "outage"
        assert first["why"].startswith("the vendor's service fails (outage): ")
        assert (first["counts"], first["attempts"]) == (False, 0)
        assert second["outcome"]["type"] == "Finished"
        assert len(model.requests) == 4, "the CLI's own retries were to be off"
        task = here.task()
        assert task["status"] == "closed"
        assert task["close_reason"].startswith("wrote it [run 2")
        assert not (here.folder / ".failures").exists()
        assert here.alive() == []


@coders("codex")
def test_an_agent_whose_model_falls_silent_is_stopped_with_all_it_started(house, coder):
    """A daemon of its own too. The task is blocked as a person's wish, and nothing is counted."""
    daemon = Shell(command="setsid sleep 600 </dev/null >/dev/null 2>&1 & echo $! > daemon")
    with ScriptedModel(daemon, Stall()) as model:
        here = house(coder, model)
        here.configure(permissions="bypass")
        here.create(coder)
        supervisor = here.supervise()
        model.wait_for(2)
        left = process_identity.identify(int((here.project / "daemon").read_text()))
        assert left in here.marked()
        here.fleet("stop", TASK)

        task = here.task()
        assert task["status"] == "blocked"
        assert "stopped by " in task["notes"]
        ending = here.ending()
        assert ending["outcome"]["type"] == "Stopped"
        assert (ending["counts"], ending["attempts"]) == (False, 0)
        assert here.marked() == []
        assert not process_identity.alive(left)
        supervisor.terminate()
        assert supervisor.wait(30) == 0
        assert here.alive() == []
        assert len(here.runs) == 1
