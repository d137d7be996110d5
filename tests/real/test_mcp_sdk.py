"""The official SDK's clients, of both generations, with fleet's two servers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.supervisor.start.agent_bin import TOOL_SERVER, AgentPrograms
from tests.conftest import missing, often

CACHE = Path(
    os.environ.get("FLEET_TOOL_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fleet-tools"
)
CLIENT = Path(__file__).with_name("sdk_client.py")
ways = pytest.mark.parametrize(
    ("release", "mode", "version"),
    [
        ("1.30.0", "legacy", "2025-11-25"),
        ("2.3.0", "auto", "2026-07-28"),
        ("2.3.0", "legacy", "2025-11-25"),
    ][: often(2, 3)],
)


def speak(release, mode, tool, arguments, *server):
    """What a client of the SDK found."""
    python = CACHE / f"mcp-{release}/bin/python"
    if not python.exists():
        missing("mcp-sdk")
    done = subprocess.run(
        [python, CLIENT, mode, tool, json.dumps(arguments), *server],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@ways
def test_the_agents_server_is_understood(tmp_path, release, mode, version):
    """Each client agrees on a version, sees three tools, and reads what a call came to."""
    programs = AgentPrograms(tmp_path).make()
    server = (sys.executable, "-I", "-S", str(programs / TOOL_SERVER), str(tmp_path / "no-box"))
    found = speak(release, mode, "report_progress", {"text": "half"}, *server)
    assert found["version"] == version
    assert found["tools"] == ["ask_human", "report_progress", "propose_task"]
    assert found["wrong"] is True
    assert "cannot be used" in found["texts"][0]


@ways
def test_the_operators_server_is_understood(tmp_path, release, mode, version):
    """It reads a home, and offers no act unless it may."""
    home = tmp_path / "home"
    fleet = [sys.executable, "-P", "-m", "fleet"]
    made = {**os.environ, "FLEET_HOME": str(home)}
    init = [*fleet, "init", "--queue", "embedded", "--sandbox", "off"]
    subprocess.run(init, env=made, check=True, stdout=subprocess.DEVNULL)
    # The client hands on a few variables only; the home is named on the command line.
    line = f'exec env FLEET_HOME="{home}" {sys.executable} -P -m fleet mcp --operator'
    found = speak(release, mode, "list", {}, "/bin/sh", "-c", line)
    assert (found["version"], found["wrong"]) == (version, False)
    assert found["tools"] == ["list", "show", "why", "receipt", "diff", "questions", "usage"]
    assert json.loads(found["texts"][0]) == {}
    found = speak(release, mode, "pause", {}, "/bin/sh", "-c", f"{line} --allow write")
    assert found["wrong"] is False
    assert {"create", "answer", "stop"} < set(found["tools"])
    assert (home / "paused").exists()
