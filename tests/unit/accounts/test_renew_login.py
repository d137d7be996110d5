"""A login is renewed by its own CLI, once, and outlives whoever asked for that."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleet.accounts import renew_login
from fleet.accounts.renew_login import BusyLogin, NotRenewed, place_of, renew
from fleet.coders.agy import AgyCoder
from fleet.coders.claude import ClaudeCoder
from fleet.coders.login import Login

FAKE = Path(__file__).parents[2] / "fakes/renewing_cli.py"
STEPS = ("asking", "answered", "writing", "written")
#: Renews the login in a process of its own, which can be killed.
REFRESHER = """
import sys
from pathlib import Path
from tests.unit.accounts.test_renew_login import Operator
Operator(Path(sys.argv[1])).renew()
"""


class Operator:
    """Somebody who has logged in to the vendor, and a home of fleet's."""

    def __init__(self, root):
        self.home, self.user, self.state = root / "home", root / "user", root / "user/.claude"
        self.vendor, self.bin = self.user / "vendor", root / "bin"
        self.file = self.state / ".credentials.json"
        parent = {
            "HOME": str(self.user), "PATH": f"{self.bin}:{os.environ['PATH']}",
            "ANTHROPIC_API_KEY": "not-this", "FLEET_TASK_ID": "fleet-1",
        }  # fmt: skip
        self.place = place_of(ClaudeCoder, str(self.state), parent)

    def settle(self, left):
        for folder in (self.home, self.vendor, self.state, self.bin):
            folder.mkdir(parents=True)
        (self.vendor / "token").write_text("refresh-1")
        ends = int((time.time() + left) * 1000)
        login = {"accessToken": "access-1", "refreshToken": "refresh-1", "expiresAt": ends}
        self.file.write_text(json.dumps({"claudeAiOauth": login}))
        program = self.bin / "claude"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {FAKE} "$@"\n')
        program.chmod(0o755)

    def renew(self, refused=""):
        return renew(self.place, self.home, datetime.now(UTC), refused)

    def said(self, name):
        path = self.vendor / name
        return path.read_text().splitlines() if path.exists() else []

    def stored(self):
        return json.loads(self.file.read_text())["claudeAiOauth"]

    def is_alive(self):
        """The vendor would renew the login that is stored."""
        return self.stored()["refreshToken"] == (self.vendor / "token").read_text()


@pytest.fixture
def operator(tmp_path):
    found = Operator(tmp_path)
    found.settle(-60)
    return found


def test_a_login_that_has_ended_is_renewed_once(operator):
    """By the operator's own CLI, which stores the new one itself; the next who asks gets that."""
    found = operator.renew()
    assert isinstance(found, Login)
    assert (operator.stored()["accessToken"], found.access) == ("access-2", "access-2")
    assert operator.renew().mark == found.mark
    assert operator.said("calls") == ["refresh-1 True"]
    assert operator.is_alive()


def test_the_cli_works_in_an_empty_directory_and_without_keys_or_words_of_a_box(operator):
    """What stands in a project must not count, and a key would be used in the login's place."""
    operator.renew()
    (line,) = operator.said("commands")
    assert line == f"auth status in {operator.home / 'logins/empty'} 0"
    env = operator.place.env
    assert not [name for name in env if "API_KEY" in name or name.startswith("FLEET_")]
    assert env["CLAUDE_CONFIG_DIR"] == str(operator.state)
    assert env["DISABLE_AUTOUPDATER"] == "1"


def test_the_next_command_serves_where_the_cheaper_one_renews_nothing(operator):
    """An older claude renews its login only for a request."""
    (operator.vendor / "lazy").touch()
    assert isinstance(operator.renew(), Login)
    free, request = operator.said("commands")
    assert free.startswith("auth status in")
    assert request.startswith("-p --tools")


def test_a_login_that_is_good_is_left_alone(tmp_path):
    """The CLI is not even started; one that the vendor refused before its end is renewed."""
    operator = Operator(tmp_path)
    operator.settle(3600)
    before = operator.renew()
    assert operator.said("commands") == []
    (operator.vendor / "lazy").touch()
    after = operator.renew(refused=before.mark)
    assert after.access == "access-2"
    assert operator.said("calls") == ["refresh-1 True"]


def test_a_login_that_was_revoked_says_so(operator):
    """With the CLI's own words, after each command that might have helped."""
    (operator.vendor / "token").write_text("another")
    found = operator.renew()
    assert found == NotRenewed("OAuth session expired and could not be refreshed")
    assert len(operator.said("calls")) == len(ClaudeCoder.renew_args)


@pytest.mark.parametrize("content", [None, "{}", '{"claudeAiOauth": {"accessToken": ""}}'])
def test_a_login_that_is_gone_is_not_renewed(operator, content):
    """A CLI that lost a race may have emptied its file."""
    operator.file.unlink()
    if content is not None:
        operator.file.write_text(content)
    assert operator.renew() == NotRenewed("it is logged out")
    assert operator.said("commands") == []


def test_a_login_without_a_refresh_token_is_not_renewed(operator):
    """There is nothing that the CLI could do."""
    login = operator.stored() | {"refreshToken": ""}
    operator.file.write_text(json.dumps({"claudeAiOauth": login}))
    assert isinstance(operator.renew(), NotRenewed)
    assert operator.said("commands") == []


def test_a_cli_that_is_missing_or_hangs_is_no_defect(operator, monkeypatch):
    """The reason is told, and what was started is ended."""
    (operator.vendor / "asking.gate").touch()
    monkeypatch.setattr(renew_login, "PATIENCE", 0.3)
    assert operator.renew() == NotRenewed("claude did not end within 0.3 s")
    (operator.bin / "claude").unlink()
    monkeypatch.setitem(operator.place.env, "PATH", str(operator.bin))
    assert operator.renew() == NotRenewed("claude is not on PATH")


def test_a_cli_that_keeps_no_login_file_has_none_to_renew(tmp_path):
    """Nor one whose state has no known place."""
    assert place_of(AgyCoder, "", {"HOME": str(tmp_path)}) is None
    own = place_of(ClaudeCoder, "", {"HOME": str(tmp_path)})
    assert own.file == tmp_path / ".claude/.credentials.json"
    assert "CLAUDE_CONFIG_DIR" not in own.env, "or the CLI would keep its state file elsewhere"


@pytest.mark.parametrize("step", STEPS)
def test_a_refresher_that_is_killed_costs_no_login(operator, tmp_path, step):
    """At each step: the CLI goes on by itself and holds the lock, and the vendor is asked once."""
    gate = operator.vendor / f"{step}.gate"
    gate.touch()
    root = Path(__file__).parents[3]
    refresher = subprocess.Popen([sys.executable, "-c", REFRESHER, str(tmp_path)], cwd=root)
    until = time.monotonic() + 60
    while not (operator.vendor / f"{step}.here").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    refresher.send_signal(signal.SIGKILL)
    refresher.wait()
    assert operator.renew() == BusyLogin()
    gate.unlink()
    while isinstance(found := operator.renew(), BusyLogin):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert isinstance(found, Login)
    assert operator.said("calls") == ["refresh-1 True"]
    assert operator.is_alive()


def test_what_a_cli_leaves_running_does_not_hold_the_lock(operator):
    """A background process of the CLI's may live for days."""
    program = operator.bin / "claude"
    program.write_text(program.read_text().replace("exec", "sleep 30 &\necho $! >$HOME/left\nexec"))
    try:
        assert isinstance(operator.renew(), Login)
        assert isinstance(operator.renew(), Login)
    finally:
        os.kill(int((operator.user / "left").read_text()), signal.SIGKILL)
