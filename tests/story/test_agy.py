"""What the supervisor makes of agy, played by a stand-in that calls almost anything a SUCCESS."""

import sys
from datetime import timedelta

import pytest

from fleet.accounts.account_store import open_accounts
from fleet.runs.outcome_history import read_ending
from fleet.schemas import Failed, Finished, RateLimited
from tests.fakes import FAKES
from tests.story.scene import Scene, processes_of

CLOSE = 'echo hi > a.txt && bd close "$FLEET_TASK_ID" --reason done'


class Agency(Scene):
    """A scene whose agents are agy, each run with the ending that the test gives it."""

    def plays(self, *endings, command=CLOSE):
        """What the first run plays, the second, and so on; the last one repeats."""
        programs = self.home.path / "programs"
        programs.mkdir()
        cases = [f"{run}) ending={word} ;;" for run, word in enumerate(endings, 1)]
        program = programs / "agy"
        program.write_text(f"""#!/bin/sh
case "${{FLEET_RUN_DIR##*/}}" in {" ".join(cases)} *) ending={endings[-1]} ;; esac
FAKE_AGY=$ending FAKE_AGY_RUN='{command}' exec {sys.executable} -I {FAKES / "agy"} "$@"
""")
        program.chmod(0o755)
        self.env["PATH"] = f"{programs}:{self.env['PATH']}"
        return self.add(coder="agy", script="gemini-3-pro")

    def work(self):
        supervisor = self.supervise("--until-idle")
        assert self.until_ended(supervisor) == 0, self.screen()
        assert processes_of(self.home.path) == []

    def endings(self, task):
        return [read_ending(run) for run in self.runs(task)]


@pytest.fixture
def agency(tmp_path):
    scene = Agency(tmp_path, retry_limit=2)
    yield scene
    scene.close()


def test_a_task_is_worked_on_and_closed(agency):
    """Its tools and tokens are counted as any other coder's."""
    task = agency.plays("success")
    agency.work()
    (ending,) = agency.endings(task)
    assert isinstance(ending.outcome, Finished)
    assert (ending.tool_calls, ending.tokens) == (1, 14_080)
    assert agency.task(task).status == "closed"
    assert agency.task(task).close_reason.startswith("done [run 1")


@pytest.mark.parametrize(
    ("ending", "words"),
    [("timeout", "a request took too long"), ("empty", "the model gave an empty answer")],
)
def test_a_success_without_work_is_none(agency, ending, words):
    """Exit 0 and the word SUCCESS: it counts as a failed attempt, and the next run is told."""
    task = agency.plays(ending, "success")
    agency.work()
    first, second = agency.endings(task)
    assert isinstance(first.outcome, Failed)
    assert first.outcome.reason == ending
    assert (first.counts, first.attempts) == (True, 1)
    assert isinstance(second.outcome, Finished)
    assert agency.status(task) == "closed"
    assert first.why.startswith(words)
    assert first.why in (agency.folder(task) / "prompt.md").read_text()


def test_a_refused_tool_blocks_the_task_at_the_limit(agency):
    """A person learns that something was denied, not that all went well."""
    task = agency.plays("denied")
    agency.work()
    assert [ending.outcome.reason for ending in agency.endings(task)] == ["denied", "denied"]
    assert agency.status(task) == "blocked"
    why = "it was denied run_command (see the permissions setting) (attempt 2 of 2)"
    assert why in agency.task(task).notes


def test_a_used_up_quota_cools_the_coder_until_it_resets(agency):
    """Exit 3 is no attempt; a second task of the same coder is not even tried."""
    task = agency.plays("quota")
    agency.supervise()
    agency.until_logged("released")
    (ending,) = agency.endings(task)
    assert isinstance(ending.outcome, RateLimited)
    assert (ending.counts, ending.attempts) == (False, 0)
    wait = ending.settlement.not_before - ending.at
    assert timedelta(minutes=34) < wait < timedelta(minutes=36)
    (window,) = open_accounts(agency.home.path).state("agy").windows.values()
    assert ending.at < window.resets_at <= ending.settlement.not_before
    other = agency.add(coder="agy", script="gemini-3-pro")
    agency.until_logged("released", 2)
    assert agency.runs(other) == []
    assert agency.status(other) == "open"
    assert agency.task(other).not_before >= window.resets_at


def test_a_signed_out_account_is_held_and_costs_nothing(agency):
    """No retry heals it: a person has to sign in, and the task waits for that."""
    task = agency.plays("signed_out")
    agency.work()
    (ending,) = agency.endings(task)
    assert (ending.outcome.reason, ending.counts) == ("auth", False)
    assert agency.status(task) == "open"
    assert "sign in" in agency.fleet("show", task).stdout


def test_a_silent_one_is_stopped_for_certain(agency):
    """It hangs for an hour if nobody ends it."""
    task = agency.plays("hang")
    agency.supervise()
    agency.until(lambda: (run := agency.run(task)) and run.started() and run.stdout.stat().st_size)
    done = agency.fleet("stop", task)
    assert done.returncode == 0, done.stderr
    assert agency.status(task) == "blocked"
    assert "stopped by" in agency.task(task).notes
