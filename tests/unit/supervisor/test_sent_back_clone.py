"""The clone of a task whose work could not land, as its next run finds it."""

from dataclasses import dataclass

import pytest
from msgspec import structs

from fleet.home import landing_json
from fleet.home.landing_json import LandedWork, Landing
from fleet.supervisor.start import sent_back_clone
from tests.builders import NOW
from tests.clones import TASK, git, prepared, why
from tests.sent_back import SentBack

CONFLICT = {"before": {"f": "1\n2\n3\n"}, "own": {"f": "1\nmine\n3\n"},
            "landed": {"f": "1\ntheirs\n3\n", "g": "new\n"}}  # fmt: skip
CLEAN = {"before": {"f": "1\n"}, "own": {"mine": "1\n"}, "landed": {"g": "new\n"}}


def send(home, repo, files, **facts):
    """Record that a task's work was sent back."""
    back = SentBack(home, repo, **files)
    landing = Landing(
        state="back", why_back="conflict", repository=str(repo.root), into="main", run=1,
        base=back.start, tree="", commit=back.candidate, title="the title", tries=1, at=NOW,
        against=(LandedWork(task_id="fleet-2", title="their title"),),
    )  # fmt: skip
    landing_json.write(home, TASK, structs.replace(landing, **facts))
    return back


def test_the_run_finds_the_merge_begun_and_its_agent_is_told(home, repo):
    """Files, tasks with titles, and the hunks of what landed."""
    back = send(home, repo, CONFLICT)
    got = prepared(home, repo.root)
    assert got.base.merge.files == ("f",)
    assert (got.base.merge.own, got.base.merge.line) == (back.candidate, back.line)
    assert "<<<<<<<" in back.read("f")
    for words in ("`main`", "In conflict: `f`", "- fleet-2: their title", "+theirs", "git commit"):
        assert words in got.sent_back
    assert "new" not in got.sent_back.partition("```diff")[2]  # only what is in conflict


def test_a_conflict_in_meaning_is_told_with_what_the_checks_printed(home, repo):
    """The line is merged; the files that others changed are named."""
    back = send(home, repo, CLEAN, why_back="verify", output="E  assert 1 == 2")
    got = prepared(home, repo.root)
    assert got.base.merge.files == ()
    assert git(back.place, "log", "-1", "--format=%P").split() == [back.candidate, back.line]
    assert "E  assert 1 == 2" in got.sent_back
    assert "Files that others changed since: `g`" in got.sent_back


def test_what_the_agent_did_to_the_merge_is_left_alone_by_the_next_run(home, repo):
    """A run that met a limit: the merge is begun once, and the same line counts."""
    back = send(home, repo, CONFLICT)
    first = prepared(home, repo.root)
    back.put(f="half way\n")
    repo.commit("more landed", h="h\n")
    again = prepared(home, repo.root)
    assert back.read("f") == "half way\n"
    assert again.base.merge == first.base.merge
    assert again.sent_back == first.sent_back


def test_a_task_that_was_not_sent_back_has_no_merge(home, repo):
    """Whatever else its landing is in."""
    back = send(home, repo, CONFLICT, state="waiting")
    got = prepared(home, repo.root)
    assert (got.base.merge, got.sent_back) == (None, "")
    assert "<<<<<<<" not in back.read("f")


def test_a_record_that_fleet_did_not_write_begins_nothing(home, repo):
    """An agent may write into its task's directory, where it has no box."""
    back = send(home, repo, CONFLICT)
    place = home.task(TASK) / landing_json.FILE
    place.write_text(place.read_text().replace('"tries":1', '"tries":0'))
    assert prepared(home, repo.root).base.merge is None
    assert "<<<<<<<" not in back.read("f")


def test_a_branch_that_is_gone_is_told(home, repo):
    """There is nothing to merge; the work is on its own branch."""
    send(home, repo, CONFLICT, into="gone")
    said = why(prepared(home, repo.root))
    assert "the branch gone that its work is to land on is gone" in said


@dataclass
class Killed:
    """A process that dies at the n-th of some calls."""

    left: int

    def at(self, act):
        def step(*args, **named):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            return act(*args, **named)

        return step


@pytest.mark.parametrize("steps", range(5))
def test_a_kill_between_any_two_steps_loses_and_doubles_nothing(home, repo, monkeypatch, steps):
    """What is meant is written first; the next supervisor does it again."""
    back = send(home, repo, CONFLICT)
    killed = Killed(steps)
    for name in ("plan_merge", "_noted", "begin_merge", "_landed_since"):
        monkeypatch.setattr(sent_back_clone, name, killed.at(getattr(sent_back_clone, name)))
    with pytest.raises(KeyboardInterrupt):
        prepared(home, repo.root)
    monkeypatch.undo()
    got = prepared(home, repo.root)
    assert (got.base.merge.own, got.base.merge.files) == (back.candidate, ("f",))
    assert git(back.place, "status", "--porcelain").splitlines() == ["UU f", "A  g"]
    assert git(back.place, "rev-list", "--count", "HEAD") == "2"
    assert repo.git("rev-parse", f"fleet/{TASK}") == back.candidate
