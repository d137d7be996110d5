"""The streams of the real CLIs in a box: sockets to their keeper, which no tool opens again."""

import json

from fleet.sandbox.try_box import try_box
from tests.conftest import coders, missing
from tests.real.house import CLOSE, TASK
from tests.scripted_model import Say, ScriptedModel, Shell

#: A tool opens its own output again, as scripts do, and then the streams of all that it sees.
TOOL = Shell(
    command="echo out >/dev/stdout; echo err >/dev/stderr;"
    " for each in /proc/[0-9]*/fd/[12]; do"
    " case $each in /proc/self/*|/proc/$$/*) continue;; esac;"
    " { readlink $each; echo forged >>$each; } >>tried 2>&1; done; touch a.txt"
)


@coders("codex", "claude")
def test_no_tool_speaks_for_its_cli(house, coder):
    """What a receipt goes by is what the CLI itself printed."""
    if not try_box({}).works:
        missing("bwrap")
    with ScriptedModel(TOOL, CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(sandbox="workspace")
        here.create(coder)
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "closed", here.fleet("task", TASK, "log")
    (run,) = here.runs
    lines = run.stdout.read_text().splitlines()
    assert len(lines) > 3
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert "forged" not in run.stderr.read_text()
    tried = (here.project / "tried").read_text()
    assert "socket:" in tried
    assert "No such device or address" in tried or "no such device" in tried.lower()
