"""The work of a run as a ref in the repository: pushed by one host, brought by another."""

import os
from pathlib import Path

import pytest

from fleet.git import repository
from fleet.git.mirror.result_refs import ResultPushed, bring_result, fetched_ref, push_result
from fleet.git.remote.remote_git import RemoteSilent


@pytest.fixture
def repo(elsewhere):
    """The project on the host that ran the task."""
    elsewhere.trust(os.path.realpath(elsewhere.project.root))
    return repository.find(str(elsewhere.project.root))


def pushed(elsewhere, repo, commit, run="1"):
    return push_result(elsewhere.home, repo, elsewhere.url, "fleet-1", run, commit)


def test_the_work_of_a_run_is_a_ref_of_the_repository(elsewhere, repo):
    """No branch moves, and the ref is named by task and run."""
    work = elsewhere.project.commit("work", c="3\n")
    assert pushed(elsewhere, repo, work) == ResultPushed(commit=work, ref="refs/fleet/fleet-1/1")
    assert elsewhere.bare.git("rev-parse", "refs/fleet/fleet-1/1") == work
    assert elsewhere.bare.git("rev-parse", "main") == elsewhere.first


def test_the_same_push_again_changes_nothing(elsewhere, repo):
    """A host that was killed between push and settlement repeats it."""
    work = elsewhere.project.commit("work", c="3\n")
    for _ in range(2):
        assert isinstance(pushed(elsewhere, repo, work), ResultPushed)


def test_another_value_of_the_same_run_takes_its_place(elsewhere, repo):
    """The host was killed before it told the queue, and its run was judged anew."""
    pushed(elsewhere, repo, elsewhere.project.commit("work", c="3\n"))
    elsewhere.project.git("reset", "-q", "--hard", elsewhere.first)
    other = elsewhere.project.commit("other work", d="4\n")
    assert isinstance(pushed(elsewhere, repo, other), ResultPushed)
    assert elsewhere.bare.git("rev-parse", "refs/fleet/fleet-1/1") == other


def test_the_work_is_brought_to_a_mirror_and_held_there(elsewhere, repo):
    """Under a name of its own, so that it is neither lost nor taken for this host's."""
    elsewhere.ensure()
    work = elsewhere.project.commit("work", c="3\n")
    pushed(elsewhere, repo, work)
    mirror = repository.find(str(elsewhere.place)) or elsewhere.ensure()
    found = bring_result(elsewhere.home, mirror, elsewhere.url, "fleet-1", "1")
    assert found == work
    assert elsewhere.mirror().git("rev-parse", fetched_ref("fleet-1", "1")) == work
    assert elsewhere.mirror().git("show", f"{work}:c") == "3"


def test_a_run_that_pushed_nothing_has_no_work(elsewhere):
    """That is an answer, and no trouble."""
    mirror = elsewhere.ensure()
    assert bring_result(elsewhere.home, mirror, elsewhere.url, "fleet-1", "7") == ""


def test_a_repository_that_is_away_is_trouble(elsewhere):
    """Else the next run would begin without the work of the last."""
    mirror = elsewhere.ensure()
    Path(elsewhere.url).rename(f"{elsewhere.url}.away")
    found = bring_result(elsewhere.home, mirror, elsewhere.url, "fleet-1", "1")
    assert isinstance(found, RemoteSilent)
