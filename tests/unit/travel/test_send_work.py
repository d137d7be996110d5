"""What a run left is pushed before the queue is told how the run ended."""

import pytest

from fleet.git.clone import clone_place
from fleet.git.mirror.result_refs import ResultPushed
from fleet.git.remote.trusted_remotes import trust_remote
from fleet.git.remote.upstream import Upstream
from fleet.home.landing_json import Landing
from fleet.supervisor.cleanup import collect
from fleet.travel.send_work import Unsent, send_work
from tests.builders import NOW
from tests.clones import TASK, clone_of, commit, git
from tests.repos import Repo


@pytest.fixture
def origin(tmp_path, home, repo):
    """The confirmed repository that the project's work is pushed to."""
    repo.first = repo.commit(a="one\n")
    found = Repo(tmp_path / "origin.git", "--bare")
    upstream = Upstream(remote="origin", url=str(found.root), branch="main")
    trust_remote(home.path, str(repo.root / ".git"), upstream, NOW)
    return found


def sent(home, origin, repo, tree=""):
    landing = Landing(
        state="waiting", repository=str(repo.root), into="main", run=1, base=repo.first, tree=tree,
        at=NOW,
    )  # fmt: skip
    found = landing if tree else None
    return send_work(home, TASK, 1, str(origin.root), title="the title", landing=found)


def test_verified_work_is_sent_with_or_without_its_clone(home, origin, repo):
    """Of a clone that is gone the project has the same commit."""
    place = clone_of(home, repo)
    work = commit(place)
    tree = git(place, "rev-parse", "HEAD^{tree}")
    collect(home, TASK)
    for _ in range(2):
        answer = sent(home, origin, repo, tree)
        assert isinstance(answer, ResultPushed)
        assert answer.commit == work
        clone_place.throw_away(home, TASK)


def test_verified_work_that_is_nowhere_any_more_is_not_taken_for_none(home, origin, repo):
    """A task of another host would be closed, and what was verified would be lost unsaid."""
    place = clone_of(home, repo)
    commit(place)
    collect(home, TASK)
    commit(place, "more.txt")
    tree = git(place, "rev-parse", "HEAD^{tree}")
    clone_place.throw_away(home, TASK)
    answer = sent(home, origin, repo, tree)
    assert isinstance(answer, Unsent)
    assert "its clone is gone" in answer.why
    assert not answer.is_silent
    assert origin.git("for-each-ref") == ""


def test_a_run_that_changed_nothing_has_nothing_to_send(home, origin, repo):
    """Nor has a task without a clone."""
    assert sent(home, origin, repo) is None
    clone_of(home, repo)
    assert sent(home, origin, repo) is None
    assert origin.git("for-each-ref") == ""
