"""Real CLIs in boxes on a login that ends: no box renews it, and it is renewed once outside."""

import json
import time

import pytest

from fleet.sandbox.try_box import try_box
from tests.conftest import coders, missing, need, only_slow
from tests.real import operator_state
from tests.real.house import MODELS, WORK, hear
from tests.real.login_vendor import LoginVendor, Renewal
from tests.scripted_model import Say, Shell

FILES = {"claude": ".credentials.json", "codex": "auth.json"}
SETTINGS = """
model_provider = "script"
[model_providers.script]
name = "script"
base_url = "{url}/v1"
wire_api = "responses"
requires_openai_auth = true
request_max_retries = 0
stream_max_retries = 0
"""
#: What the CLIs themselves write where they renew a login.
THEIRS = {
    "claude": (".claude.json", ".claude/.credentials.json", ".claude/backups", ".claude/sessions",
               ".claude/projects", ".claude/.last-cleanup", ".claude/.oauth_refresh.lock"),
    "codex": (".codex/auth.json", ".codex/auth.lock", ".codex/auth.json.lock", ".codex/tmp"),
}  # fmt: skip
ONCE = [Renewal(token="refresh-1", status=200)]
CLOSE = Shell(command='bd close $FLEET_TASK_ID --reason "wrote it"')
HOUR = 3600.0


class Office:
    """A house whose operator has logged in to the vendor."""

    def __init__(self, here, vendor, lasts):
        self.here, self.vendor = here, vendor
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY"):
            here.env.pop(name, None)
        here.env |= vendor.env
        state = here.user / f".{vendor.cli}"
        state.mkdir()
        if vendor.cli == "codex":
            (state / "config.toml").write_text(SETTINGS.format(url=vendor.url))
        else:
            own = {"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}
            (state / "settings.json").write_text(json.dumps(own))
        self.file = state / FILES[vendor.cli]
        self.log_in(lasts)
        here.configure(sandbox="workspace", retry_limit=1)
        shared = f"sandbox_write={vendor.folder.parent}"
        here.fleet("config", "set", "--project", str(here.project), shared)

    def log_in(self, lasts):
        """Have a login that is good for so many seconds more."""
        fresh = self.file.with_suffix(".fresh")
        fresh.write_text(json.dumps(self.vendor.login(time.time() + lasts)))
        fresh.chmod(0o600)
        fresh.replace(self.file)

    def create(self, *ids):
        model = ("--model", MODELS[self.vendor.cli])
        for each in ids:
            words = ("--silent", "--id", each, "--coder", self.vendor.cli, *model, f"Do {each}")
            self.here.fleet("bd", "create", *words)

    def tasks(self):
        return json.loads(self.here.fleet("bd", "list", "--all", "--json"))

    def ending(self, task, run=1):
        return json.loads((self.here.home / f"tasks/{task}/runs/{run}/outcome.json").read_text())

    def is_alive(self):
        """The vendor would renew the login that is stored."""
        return f'"refresh-{len(self.vendor.renewals) + 1}"' in self.file.read_text()


def wait_until(what, seconds=60):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture
def office(house):
    """Makes an office around a vendor, whose operator has a login for so many seconds."""
    need("openssl")
    if not try_box({}).works:
        missing("bwrap")
    return lambda vendor, lasts=HOUR: Office(house(vendor.cli, vendor), vendor, lasts)


def gate(folder):
    """A file, and the step of an agent that waits for it."""
    file = folder / "go"
    return file, Shell(command=f"while [ ! -e {file} ]; do sleep 0.1; done")


@coders("claude")
def test_three_boxes_outlive_the_login_that_they_began_with(office, tmp_path, coder):
    """The operator's own CLI renews it once, outside of every box, and each box goes on with the
    new access token as the old one is refused. fleet itself changes nothing of the operator's.
    """
    go, waits = gate(tmp_path)
    with LoginVendor(coder, tmp_path / "ca", waits, CLOSE, Say()) as vendor:
        desk = office(vendor)
        desk.create("fleet-a", "fleet-b", "fleet-c")
        supervisor = desk.here.supervise("--until-idle")
        vendor.wait_for(3)
        vendor.least = 2
        desk.log_in(60)
        before = operator_state.digest(desk.here.user)
        hear(supervisor, "was renewed")
        time.sleep(0.5)
        go.touch()
        assert supervisor.wait(60) == 0
        assert vendor.renewals == ONCE
        assert [each["status"] for each in desk.tasks()] == ["closed"] * 3
        assert {desk.ending(each["id"])["resumed"] for each in desk.tasks()} == {False}
        assert desk.is_alive()
        after = operator_state.digest(desk.here.user)
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        assert [name for name in changed if not name.startswith(THEIRS[coder])] == []


@coders("codex")
def test_a_token_that_is_refused_before_its_end_costs_no_attempt(office, tmp_path, coder):
    """The login is renewed, and the same session goes on."""
    go, waits = gate(tmp_path)
    with LoginVendor(coder, tmp_path / "ca", waits, CLOSE, Say()) as vendor:
        desk = office(vendor)
        desk.create("fleet-a")
        supervisor = desk.here.supervise("--until-idle")
        vendor.wait_for(1)
        vendor.least = 2
        go.touch()
        assert supervisor.wait(60) == 0
        first, second = desk.ending("fleet-a"), desk.ending("fleet-a", 2)
        assert first["outcome"]["reason"] == "stale_login"
        assert first["counts"] is False
        assert second["resumed"] is True
        assert second["session_id"] == first["session_id"]
        assert [each["status"] for each in desk.tasks()] == ["closed"]
        assert vendor.renewals == ONCE
        assert desk.is_alive()


@only_slow
@pytest.mark.parametrize("coder", ["claude", "codex"])
def test_a_login_that_was_revoked_holds_its_account_and_no_task(office, tmp_path, coder):
    """Nothing is started, and what to do is said. Once a person has logged in the task runs."""
    with LoginVendor(coder, tmp_path / "ca", WORK, CLOSE, Say()) as vendor:
        vendor.revoked = True
        desk = office(vendor, -60)
        desk.create("fleet-a")
        said = desk.here.fleet("run", "--until-idle")
        assert "its login could not be renewed" in said
        assert f"{coder} " in said
        assert f"then: fleet account resume {coder}" in said
        (task,) = desk.tasks()
        assert task["status"] == "open"
        assert vendor.requests == []
        assert {each.status for each in vendor.renewals} == {400}
        assert "could not be renewed" in desk.here.fleet("accounts")
        vendor.revoked = False
        desk.log_in(HOUR)
        desk.here.fleet("account", "resume", coder)
        desk.here.fleet("run", "--until-idle")
        (task,) = desk.tasks()
        assert task["status"] == "closed"


@only_slow
@pytest.mark.parametrize("coder", ["claude", "codex"])
def test_a_supervisor_that_is_killed_as_the_vendor_answers_costs_no_login(office, tmp_path, coder):
    """The CLI stores its new login all the same, and the next supervisor hands it to the box."""
    go, waits = gate(tmp_path)
    with LoginVendor(coder, tmp_path / "ca", waits, CLOSE, Say()) as vendor:
        desk = office(vendor)
        desk.create("fleet-a")
        supervisor = desk.here.supervise("--until-idle")
        vendor.wait_for(1)
        vendor.gate.acquire()
        desk.log_in(60)
        wait_until(lambda: vendor.asked_to_renew)
        supervisor.kill()
        supervisor.wait()
        vendor.least = 2
        vendor.gate.release()
        wait_until(desk.is_alive)
        supervisor = desk.here.supervise("--until-idle")
        hear(supervisor, "adopted")
        time.sleep(2)
        go.touch()
        assert supervisor.wait(60) == 0
        assert vendor.renewals == ONCE
        assert [each["status"] for each in desk.tasks()] == ["closed"]
        assert len(list((desk.here.home / "tasks/fleet-a/runs").iterdir())) == 1
