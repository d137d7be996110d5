"""The small parts of the supervisor: log, shims, artifacts, verdicts, snapshot, lock."""

import fcntl
import json
import os
import subprocess
import sys

import pytest

from fleet.home import Home, owner_file, status_file
from fleet.home import journal as logs
from fleet.home.journal import Log
from fleet.processes.supervisor_lock import (
    LOCK,
    AlreadyRunning,
    sole_supervisor,
    supervisor_of,
)
from fleet.runs import stop_reason
from fleet.runs.artifacts_digest import fingerprint
from fleet.schemas import ContextFull, Stopped
from fleet.supervisor.start.agent_bin import KEEPER, make_programs
from tests.builders import NOW, a_run


class TestLog:
    @pytest.fixture
    def home(self, tmp_path):
        (tmp_path / "logging").mkdir()
        (tmp_path / "task").mkdir()
        return tmp_path

    def log(self, home, now=NOW, echo=lambda text: None):
        return Log(home / "logging", lambda: now, echo)

    def test_a_line_goes_to_the_day_and_to_the_task(self, home):
        """With an action for machines and a sentence for people."""
        shown = []
        self.log(home, echo=shown.append).say("closed", "done", task_dir=home / "task", run=1)
        (line,) = (home / "logging/fleet-2026-11-15.jsonl").read_text().splitlines()
        told = json.loads(line)
        assert (told["action"], told["text"], told["task"], told["run"]) == (
            "closed", "done", "task", 1,
        )  # fmt: skip
        assert (home / "task/log.jsonl").read_text() == line + "\n"
        assert shown[0].endswith("  done")

    def test_old_days_are_forgotten(self, home):
        """After thirty days; nothing else in the directory is touched."""
        for name in ("fleet-2026-10-15.jsonl", "fleet-2026-10-16.jsonl", "mine.jsonl"):
            (home / "logging" / name).touch()
        self.log(home).say("started", "hello")
        left = sorted(path.name for path in (home / "logging").iterdir())
        assert left == ["fleet-2026-10-16.jsonl", "fleet-2026-11-15.jsonl", "mine.jsonl"]

    def test_a_day_has_an_end(self, home, monkeypatch):
        """A file that is full takes no more."""
        monkeypatch.setattr(logs, "LARGEST", 10)
        log = self.log(home)
        log.say("one", "first")
        log.say("two", "second")
        assert len((home / "logging/fleet-2026-11-15.jsonl").read_text().splitlines()) == 1

    def test_a_line_that_cannot_be_written_is_counted(self, home):
        """The supervisor goes on without it."""
        (home / "logging").rmdir()
        log = self.log(home)
        log.say("one", "first")
        assert log.lost == 1

    def test_a_screen_that_is_gone_is_not_asked_again(self, home):
        """Its loss is no reason to stop."""
        tries = []

        def broken(text):
            tries.append(text)
            raise BrokenPipeError

        log = self.log(home, echo=broken)
        log.say("one", "first")
        log.say("two", "second \ud800")
        assert len(tries) == 1
        assert len((home / "logging/fleet-2026-11-15.jsonl").read_text().splitlines()) == 2


class TestShims:
    def test_they_lead_to_this_fleet(self, tmp_path):
        """Both can be run, and are written anew only if they differ."""
        folder = make_programs(tmp_path)
        told = subprocess.run([folder / "fleet", "--version"], capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        before = (folder / "bd").stat().st_mtime_ns
        (folder / "fleet").write_text("old")
        make_programs(tmp_path)
        assert (folder / "bd").stat().st_mtime_ns == before
        assert "-m fleet" in (folder / "fleet").read_text()
        assert (folder / "fleet").stat().st_mode & 0o777 == 0o700

    def test_the_keeper_is_kept_as_bytecode(self, tmp_path):
        """It runs as it is, without its source; to be told nothing is a mistake it knows."""
        program = make_programs(tmp_path) / KEEPER
        told = subprocess.run([sys.executable, "-I", "-S", program], capture_output=True, text=True)
        assert "IndexError" in told.stderr


class TestArtifacts:
    def test_only_other_content_is_progress(self, tmp_path):
        """A touch is none; a word, a new file and a deleted one are."""
        plan = tmp_path / "PLAN.md"
        plan.write_text("1. read")
        seen = [fingerprint(tmp_path)]
        os.utime(plan, (0, 0))
        assert fingerprint(tmp_path) == seen[0]
        plan.write_text("1. reed")
        seen.append(fingerprint(tmp_path))
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub/note").touch()
        seen.append(fingerprint(tmp_path))
        plan.unlink()
        seen.append(fingerprint(tmp_path))
        assert len(set(seen)) == 4

    def test_what_is_no_file_does_not_stop_it(self, tmp_path):
        """A pipe, a link in a circle, a directory that is not there."""
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "self").symlink_to("self")
        assert fingerprint(tmp_path) == fingerprint(tmp_path)
        assert fingerprint(tmp_path / "none") == fingerprint(tmp_path / "none")

    def test_large_files_are_told_apart_by_time(self, tmp_path):
        """Their content is not read."""
        large = tmp_path / "large"
        large.write_bytes(b"x" * (2 << 20))
        before = fingerprint(tmp_path)
        os.utime(large, (1, 1))
        assert fingerprint(tmp_path) != before


class TestVerdict:
    def test_it_is_found_again(self, tmp_path):
        """The supervisor that adopts the run reads it; a missing or damaged file gives none."""
        run = a_run(tmp_path)
        assert stop_reason.read(run) is None
        for outcome in (ContextFull(tokens=9, window=10), Stopped(by="ada")):
            stop_reason.record(run, outcome)
            assert stop_reason.read(run) == ContextFull(tokens=9, window=10), "the first stands"
        (run.path / stop_reason.FILE).write_text('{"type":"Nonsense"}')
        assert stop_reason.read(run) is None


class TestState:
    def test_a_snapshot_is_read_back(self, tmp_path):
        """And a damaged one is an empty one."""
        home = Home(tmp_path)
        snapshot = status_file.SupervisorStatus(runs=3, slots=5, shortage="disk")
        assert status_file.write_status(home, snapshot)
        assert status_file.read_status(home) == snapshot
        (tmp_path / status_file.FILE).write_text("{")
        assert status_file.read_status(home) == status_file.SupervisorStatus()

    def test_a_disk_below_the_floor_has_no_room(self, tmp_path, monkeypatch):
        """What is left is for those that run."""
        assert status_file.room(Home(tmp_path))
        monkeypatch.setattr(status_file, "FLOOR", 1 << 62)
        assert not status_file.room(Home(tmp_path))


class TestSole:
    def test_there_is_one_a_home(self, tmp_path):
        """The second is told who is there, with exit code 9; after the first it may come."""
        home = Home(tmp_path)
        with sole_supervisor(home):
            assert supervisor_of(home).who.pid == os.getpid()
            with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}") as refused:
                sole_supervisor(home).__enter__()
            assert refused.value.exit_code == 9
        with sole_supervisor(home):
            pass

    def test_the_lock_of_a_killed_one_is_waited_for(self, tmp_path):
        """A child that the killed supervisor was starting holds a copy for a moment."""
        home = Home(tmp_path)
        fd = os.open(home.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        child = subprocess.Popen(["sleep", "0.3"], pass_fds=[fd])
        os.close(fd)
        with sole_supervisor(home):
            assert child.wait(10) == 0

    def test_a_home_keeps_its_name(self, tmp_path):
        """The same after a restart, and unlike any other's."""
        first, other = Home(tmp_path / "a"), Home(tmp_path / "b")
        for home in (first, other):
            home.path.mkdir()
        assert owner_file.read_or_make(first) == owner_file.read_or_make(first)
        assert owner_file.read_or_make(first) != owner_file.read_or_make(other)
        assert owner_file.read_or_make(first).isalnum()
