"""What an operator's agent can do: read, and with leave act, as a person would."""

import json
import os
import time

import pytest

from fleet.config import Config
from fleet.control import Control
from fleet.mcp.operator_tools import WRITE, OperatorTools
from fleet.spool.agent_mcp.line_server import LineServer


@pytest.fixture
def call(home, tmp_path):
    """Calls a tool and waits for its result; the text, and whether it is an error."""

    def call(name, *, write=True, env=None, **arguments):
        tools = OperatorTools(lambda: Control(home, Config(), env or {}), write=write)
        assert name in {tool["name"] for tool in tools.offered}
        waiting, end = tools.call(name, arguments), time.monotonic() + 20
        while (done := waiting.look(0.0)) is None:
            assert time.monotonic() < end
            time.sleep(0.005)
        return done["content"][0]["text"], done.get("isError", False)

    return call


def test_a_key_makes_one_task_however_often_it_is_asked_for(call, tmp_path):
    """An agent that did not hear the answer asks again."""
    wish = {"title": "Prune", "cwd": str(tmp_path), "key": "issue-17"}
    made = [json.loads(call("create", **wish)[0])["id"] for _ in range(3)]
    assert len(set(made)) == 1
    other = json.loads(call("create", **{**wish, "key": "issue-18"})[0])["id"]
    assert other != made[0]
    assert len(json.loads(call("list")[0])["rows"]) == 2


def test_what_is_refused_is_an_answer_with_the_way_out(call):
    """And no end of the server."""
    text, wrong = call("answer", id="fleet-none", text="x")
    assert wrong
    assert "fleet bd list" in text
    assert call("create", title="x")[1]
    assert call("retry", id="x", colour="red")[1]


def test_what_was_asked_before_the_client_closed_its_end_is_answered(home):
    """`echo … | fleet mcp --operator` still reads; also a call that has to be waited for."""
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list"}}
    source, ours = os.pipe()
    theirs, target = os.pipe()
    os.write(ours, json.dumps(asked).encode() + b"\n")
    os.close(ours)
    tools = OperatorTools(lambda: Control(home, Config()), write=False)
    tools.last_seconds = 60.0  # a busy machine makes nothing wrong
    try:
        LineServer(tools, source, target).serve()
        answer = json.loads(os.read(theirs, 1 << 16))
    finally:
        for each in (source, theirs, target):
            os.close(each)
    assert (answer["id"], answer["result"].get("isError", False)) == (7, False)


def test_inside_a_run_no_act_is_done(call):
    """An agent would judge its own work."""
    text, wrong = call("pause", env={"FLEET_RUN_ID": "me.fleet-x.1"})
    assert wrong
    assert "an agent cannot" in text


def test_without_leave_no_act_is_offered(home):
    """Reading is the default."""
    tools = OperatorTools(lambda: Control(home, Config()), write=False)
    assert not {tool["name"] for tool in tools.offered} & set(WRITE)
