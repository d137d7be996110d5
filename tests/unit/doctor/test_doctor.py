"""What `fleet doctor` finds on a machine and in a home, and what it leaves alone."""

import os
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import msgspec
import pytest

from fleet import config, doctor
from fleet.doctor import (
    check_home,
    check_leftovers,
    check_machine,
    check_project,
    check_queue,
)
from fleet.doctor.check_result import CheckResult
from fleet.errors import QueueUnavailable
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import sole_supervisor, supervisor_of
from fleet.queue import identity
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.runs.run_directory import RunSpec, Started, new_run
from tests.builders import a_program
from tests.unit.doctor.conftest import with_env, with_settings


def one(findings):
    (finding,) = findings
    return finding


# The examination itself.


def test_findings_come_in_the_order_of_the_checks_whoever_is_done_first(installation):
    """A slow check delays no other."""

    def slow(_):
        time.sleep(0.2)
        yield CheckResult("slow", "ok", "")

    def quick(_):
        yield CheckResult("quick", "ok", "")

    found = doctor.examine(installation.env, checks=(("slow", slow), ("quick", quick)))
    assert [finding.check for finding in found] == ["slow", "quick"]


def test_a_check_that_hangs_is_a_finding(installation):
    """After so long, and the others are told."""

    def stuck(_):
        time.sleep(30)
        yield CheckResult("stuck", "ok", "")

    def fine(_):
        yield CheckResult("fine", "ok", "")

    begun = time.monotonic()
    found = doctor.examine(
        installation.env, checks=(("stuck", stuck), ("fine", fine)), patience=0.3
    )
    assert time.monotonic() - begun < 10
    assert [(f.check, f.severity) for f in found] == [("stuck", "warning"), ("fine", "ok")]


def test_a_check_that_breaks_is_a_finding(installation):
    """What it had found is kept; fleet's own errors bring their hint."""

    def breaks(_):
        yield CheckResult("breaks", "ok", "so far")
        raise ZeroDivisionError

    def fails(_):
        raise QueueUnavailable("no queue", hint="Make one.")
        yield

    found = doctor.examine(installation.env, checks=(("breaks", breaks), ("fails", fails)))
    assert [finding.severity for finding in found] == ["ok", "warning", "error"]
    assert "ZeroDivisionError" in found[1].what
    assert found[2].fix == "Make one."


def test_no_home_at_all_is_one_finding():
    """Neither of the two variables is set."""
    assert one(doctor.examine({})).check == "home"


def test_every_warning_and_error_of_a_broken_home_has_a_fix(installation):
    """Whatever it is."""
    installation.home.config.write_text("max_concurrent = 'many'")
    installation.home.path.chmod(0o755)
    found = doctor.examine({**installation.env, "PATH": ""})
    assert {f.check for f in found if f.severity == "error"} == {"config"}
    assert {f.check for f in found if f.severity == "warning"} >= {"git", "home"}
    assert all(finding.fix for finding in found if finding.severity != "ok")


# The machine.


def test_python_is_told_and_an_old_one_refused(installation, monkeypatch):
    """Fleet needs 3.11."""
    assert one(check_machine.python(installation)).severity == "ok"
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert one(check_machine.python(installation)).severity == "error"


def test_git_with_a_name_is_fine(installation):
    """One line, with its version."""
    assert one(check_machine.git(installation)).what.startswith("git 2.")


def test_git_without_a_name_cannot_commit(installation, tmp_path):
    """The name of a repository somewhere is not everybody's."""
    (tmp_path / ".gitconfig").write_text("[user]\nname = Ann\n")
    _, finding = check_machine.git(installation)
    without = "agents cannot commit in projects without their own"
    assert finding.what == f"git has no user.email: {without}"
    assert finding.fix == "git config --global user.email …"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo git version 2.30.9", "git 2.30.9 is older than 2.31"),
        ("echo garbage", "does not tell its version"),
        ("sleep 60", "did not answer"),
    ],
)
def test_an_old_or_broken_git_is_told(installation, tmp_path, monkeypatch, script, words):
    """And one that hangs is not waited for."""
    monkeypatch.setattr(check_machine, "_PATIENCE", 0.5)
    a_program(tmp_path / "bin/git", script)
    installation = with_env(installation, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    first = next(iter(check_machine.git(installation)))
    assert (first.severity, words in first.what) == ("warning", True), first


def test_no_git_is_told(installation, tmp_path):
    """Agents expect it."""
    assert "not on PATH" in one(check_machine.git(with_env(installation, PATH=str(tmp_path)))).what


@pytest.mark.parametrize(
    ("free", "inodes", "severities"),
    [
        (100 << 30, 10**6, ["ok"]),
        (1 << 30, 10**6, ["warning"]),
        (1 << 20, 10**6, ["error"]),
        (100 << 30, 5, ["ok", "warning"]),
    ],
)
def test_disk_space_is_judged(installation, monkeypatch, free, inodes, severities):
    """Bytes, and the number of files."""
    about = SimpleNamespace(f_bavail=free // 4096, f_frsize=4096, f_files=10**7, f_favail=inodes)
    monkeypatch.setattr(os, "statvfs", lambda _: about)
    assert [finding.severity for finding in check_machine.disk(installation)] == severities


def test_enough_of_everything_is_one_line(installation, monkeypatch):
    """No news."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    monkeypatch.setattr(check_machine, "_kernel", lambda _: 1 << 20)
    assert one(check_machine.limits(installation)).severity == "ok"


def test_without_a_home_the_machine_is_held_against_the_settings_of_a_new_one(installation):
    """Before `fleet init` there is no runtime.toml, and its defaults are what a first run has."""
    bare = msgspec.structs.replace(installation, config=None)
    fresh = msgspec.structs.replace(installation, config=config.Config())
    assert list(check_machine.limits(bare)) == list(check_machine.limits(fresh))


def test_each_limit_of_the_system_that_is_short_is_told(installation, monkeypatch):
    """Files, processes, and both of inotify's."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, 100))
    monkeypatch.setattr(check_machine, "_kernel", lambda _: 1)
    found = list(check_machine.limits(installation))
    assert [finding.severity for finding in found] == ["warning"] * 4
    assert [finding.fix.split()[-1].split("=")[0] for finding in found[2:]] == [
        "fs.inotify.max_user_instances",
        "fs.inotify.max_user_watches",
    ]


def test_more_agents_than_memory_are_told(installation):
    """With the number that would fit."""
    assert (
        one(check_machine.memory(with_settings(installation, "max_concurrent = 1"))).severity
        == "ok"
    )
    finding = one(check_machine.memory(with_settings(installation, "max_concurrent = 1000")))
    assert "fleet config set max_concurrent=" in finding.fix


# The home.


def test_a_home_that_others_can_look_into_is_told(installation):
    """Logs hold what agents saw."""
    assert one(check_home.place(installation)).severity == "ok"
    installation.home.path.chmod(0o750)
    assert "chmod 700" in one(check_home.place(installation)).fix


def test_bypass_is_told_of_only_as_root(installation, monkeypatch):
    """There it is everything."""
    for uid, chosen, severity in [
        (0, "bypass", "warning"), (0, "edit", "ok"), (1000, "bypass", "ok"),
    ]:  # fmt: skip
        monkeypatch.setattr(os, "geteuid", lambda uid=uid: uid)
        found = with_settings(installation, f'permissions = "{chosen}"')
        assert one(check_home.permissions(found)).severity == severity


def test_a_context_that_takes_from_the_users_settings_is_told(installation, tmp_path):
    """A login by a helper, what is forbidden: a run would go without."""
    lean = with_settings(installation, '[projects."/srv"]\ncontext = "lean"')
    assert list(check_home.context(installation)) == []
    assert one(check_home.context(lean)).severity == "ok"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(
        '{"apiKeyHelper": "x", "permissions": {"deny": ["Read(.env)"], "allow": []}, "env": {}}'
    )
    finding = one(check_home.context(lean))
    assert "apiKeyHelper, permissions.deny of your own" in finding.what
    (tmp_path / ".claude/settings.json").write_text("[not json")
    assert one(check_home.context(lean)).severity == "ok"


def test_a_context_that_the_coder_does_not_have_is_told(installation):
    """It would save nothing."""
    finding = one(
        check_home.context(with_settings(installation, 'coder = "agy"\ncontext = "lean"'))
    )
    assert (finding.severity, "loads the same" in finding.what) == ("warning", True)


def test_a_supervisor_is_told_by_its_process(installation):
    """And that there is none is no fault."""
    from fleet.processes.supervisor_lock import sole_supervisor

    assert "fleet run" in one(check_home.supervisor(installation)).what
    with sole_supervisor(installation.home):
        assert f"process {os.getpid()}" in one(check_home.supervisor(installation)).what


def test_the_queue_is_told_by_its_id_and_a_lost_one_by_the_way_back(installation):
    """`doctor` used to make a new queue in the place of a deleted one, and find it sound."""
    queue = open_embedded(installation.home.path)
    (installation.home.tasks / queue.add(Draft(title="t")).id).mkdir()
    queue.close()
    sound, backup = check_queue.queue(installation)
    known = identity.known_ids(installation.home.path)["embedded"]
    assert (sound.severity, sound.what) == ("ok", f"embedded, {known[:8]}")
    assert backup.severity == "ok"
    for path in installation.home.path.glob("queue.db*"):
        path.unlink()
    lost = one(check_queue.queue(installation))
    assert lost.severity == "error"
    assert "fleet queue restore" in lost.fix


@pytest.mark.parametrize(
    ("version", "severity"),
    [((1, 3, 0), "ok"), ((1, 2, 0), "warning"), ((1, 1, 0), "warning"), (None, "warning")],
)
def test_bd_is_judged_by_its_version(monkeypatch, tmp_path, version, severity):
    """Those that lose data, those that fleet has to be careful with, and those that are fine."""
    monkeypatch.setattr("fleet.queue.beads.bd_cli.bd_client.BdClient.version", version)
    assert one(check_queue._bd(tmp_path)).severity == severity


# What is left.


def a_run(installation, task_id, *, keeper=None, mark="fleetabc.x.1"):
    spec = RunSpec(id=mark, argv=("true",), cwd="/")
    run = new_run(installation.home.task(task_id), spec, b"")
    if keeper is not None:
        started = Started(keeper=keeper, agent=keeper, at=datetime.now(UTC), monotonic=1.0)
        (run.path / "started").write_bytes(msgspec.json.encode(started))
    return run


def me():
    return process_identity.identify(os.getpid())


def dead():
    return msgspec.structs.replace(me(), start_ticks=1)


def test_a_run_without_an_end_and_without_a_keeper_is_stale(installation):
    """One that is kept, one that has ended and one that is settled are not."""
    a_run(installation, "fleet-1", keeper=me())
    a_run(installation, "fleet-2", keeper=dead())
    ended = a_run(installation, "fleet-3", keeper=dead())
    (ended.path / "exit.json").write_text("{}")
    settled = a_run(installation, "fleet-4", keeper=dead())
    (settled.path / "outcome.json").write_text("{}")
    a_run(installation, "fleet-5", keeper=dead()).fence()
    a_run(installation, "fleet-6")  # about to start
    finding = one(check_leftovers.stale_runs(installation))
    assert finding.what.startswith("1 without an end")
    assert finding.what.endswith(": fleet-2 run 1")


def test_a_run_that_was_prepared_long_ago_and_never_began_is_stale(installation):
    """Its supervisor died in between."""
    run = a_run(installation, "fleet-1")
    os.utime(run.path, (1, 1))
    assert "fleet-1 run 1" in one(check_leftovers.stale_runs(installation)).what


def test_no_runs_and_damaged_runs_are_nothing_to_tell(installation):
    """A damaged record is its task's to tell."""
    assert list(check_leftovers.stale_runs(installation)) == []
    run = a_run(installation, "fleet-1")
    (run.path / "started").write_text("{")
    (installation.home.tasks / "stray file").write_text("")
    assert list(check_leftovers.stale_runs(installation)) == []


@pytest.fixture
def marked():
    """Starts a process that bears a mark."""
    started = []

    def start(mark):
        process = subprocess.Popen(["sleep", "60"], env={**os.environ, process_identity.MARK: mark})
        started.append(process)
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_process_of_a_run_that_is_over_is_an_orphan(installation, marked):
    """Known by its mark; those of a run that lives, and of another home, are left alone."""
    (installation.home.path / "owner").write_text("fleetabc\n")
    a_run(installation, "fleet-1", keeper=me(), mark="fleetabc.fleet-1.1")
    a_run(installation, "fleet-2", keeper=dead(), mark="fleetabc.fleet-2.1")
    marked("fleetabc.fleet-1.1")
    marked("fleetxyz.fleet-2.1")
    assert list(check_leftovers.orphans(installation)) == []
    pids = [
        marked("fleetabc.fleet-2.1"),
        marked("fleetabc.deleted.7"),
        marked("fleetabc.fleet-1.0"),
    ]
    finding = one(check_leftovers.orphans(installation))
    assert finding.what.startswith("3 processes of runs that are over (deleted, fleet-1, fleet-2)")
    assert all(str(pid) in finding.what for pid in pids)


def test_a_home_that_never_ran_anything_has_no_orphans(installation):
    """And looking makes no name for it."""
    assert list(check_leftovers.orphans(installation)) == []
    assert not (installation.home.path / "owner").exists()


def test_a_project_without_a_verify_command_is_proposed_one(installation, tmp_path, monkeypatch):
    """With the line that sets it; nothing is said where no file names tests."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    assert list(check_project.verify(installation)) == []
    (work / "Cargo.toml").write_text("[package]\n")
    found = one(check_project.verify(installation))
    assert (found.severity, found.check) == ("ok", "verify")
    assert found.fix == "By its Cargo.toml: fleet config set --project . 'verify=cargo test'"
    text = f'[projects."{work}"]\nverify = ["cargo test"]\n'
    checked = with_settings(installation, text)
    assert "tasks here are checked with: cargo test" in one(check_project.verify(checked)).what


def test_times_are_told_in_the_zone_of_the_person(installation, monkeypatch):
    """As every other command tells them."""
    monkeypatch.setenv("TZ", "Etc/GMT-5")
    time.tzset()
    try:
        with sole_supervisor(installation.home, "claude"):
            (found,) = check_home.supervisor(installation)
            holder = supervisor_of(installation.home)
            assert holder is not None
            assert found.what.endswith(f"since {holder.since + timedelta(hours=5):%F %H:%M}")
    finally:
        monkeypatch.undo()
        time.tzset()
