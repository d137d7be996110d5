"""`fleet host add`, over a real sshd on the loopback interface."""

import json
import os
import stat
import subprocess

import pytest

from tests import warm
from tests.conftest import missing, need, only_slow
from tests.machines.ssh_server import SshServer, sshd_program
from tests.machines.user_services import missing_services, with_services


@pytest.fixture
def server(tmp_path):
    need("ssh")
    need("ssh-keygen")
    if sshd_program() is None:
        missing("sshd")
    found = SshServer(tmp_path / "elsewhere")
    found.start()
    yield found
    found.stop()


@pytest.fixture
def dsn(new_postgres_dsn):
    """The address of a queue, with a password."""
    return new_postgres_dsn


@pytest.fixture
def fleet(tmp_path, dsn):
    """Runs a command of a home on a shared queue."""
    env = {**os.environ, "FLEET_HOME": str(tmp_path / "home")}

    def run(*words, given="", code=0):
        done = warm.fleet(words, env=env, cwd=tmp_path, timeout=300, stdin=given.encode())
        said = (done.stdout + done.stderr).decode()
        assert done.returncode == code, said
        return said

    run("init", "--queue", "-", "--sandbox", "off", given=f"{dsn}\n")
    return run


def test_a_machine_that_cannot_be_a_host_is_told_by_the_step_that_fails(fleet, server):
    """Nothing is changed there before all that is needed has been found."""
    add = ("host", "add", "127.0.0.1", *server.options())
    found = json.loads(fleet(*add, "--no-service", "--dry-run", "--json"))["facts"]
    assert (found["home"], found["same_kind"]) == (str(server.login / ".fleet"), True)
    assert list(server.login.iterdir()) == [], "only looked at"
    said = fleet("host", "add", "127.0.0.1", *server.options(IdentityFile="/dev/null"), code=1)
    assert "ssh does not reach 127.0.0.1" in said
    assert "BatchMode=yes 127.0.0.1 true" in said
    server.without_programs("systemctl")
    assert "--no-service" in fleet(*add, code=1)
    server.without_programs(*(f"python3.{minor}" for minor in range(11, 15)), "python3")
    assert "127.0.0.1 has no Python 3.11 or later" in fleet(*add, code=1)
    server.without_programs()
    (server.login / ".fleet").mkdir()
    (server.login / ".fleet" / "runtime.toml").write_text('queue = "embedded"\n')
    said = fleet(*add, "--no-service", code=7)
    assert "on another queue: embedded" in said
    assert "--home" in said


@only_slow
def test_a_machine_is_set_up_takes_part_and_is_brought_to_this_version_again(fleet, server, dsn):
    """The whole way: this very code is installed there, from what is installed here alone."""
    server.without_programs("bd")
    add = ("host", "add", "127.0.0.1", *server.options())
    add += ("--name", "elsewhere", "--label", "gpu", "--slots", "2", "--json")
    done = json.loads(fleet(*add, "--detach"))
    try:
        assert (done["host"]["name"], done["host"]["labels"]) == ("elsewhere", ["gpu"])
        runtime = server.login / ".fleet" / "runtime.toml"
        assert dsn in runtime.read_text()
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o600
        assert "elsewhere  up  0 of 2 slots" in fleet("hosts")
        again = json.loads(fleet(*add, "--no-service"))
        assert again["fleet"] == done["fleet"], "the same code has one place"
        assert again["facts"]["has_home"]
        link = server.login / ".local" / "bin" / "fleet"
        assert str(link.readlink()) == done["fleet"]
    finally:
        env = {**os.environ, "FLEET_HOME": str(server.login / ".fleet")}
        subprocess.run([done["fleet"], "shutdown"], env=env, check=True, timeout=60)


@only_slow
@pytest.mark.timeout(600)
def test_a_machine_with_user_services_has_the_supervisor_as_one(fleet, tmp_path):
    """Also over an ssh session that does not name them: sshd without PAM sets no directory."""
    if tool := missing_services():
        missing(tool)
    server = SshServer(tmp_path / "elsewhere")
    server.start(with_services(server.login))
    try:
        server.without_programs("bd")
        add = ("host", "add", "127.0.0.1", *server.options(), "--name", "elsewhere", "--json")
        fleet(*add)
        assert (server.login / ".config/systemd/user/fleet.service").exists()
        assert "elsewhere  up" in fleet("hosts")
    finally:
        server.stop()
