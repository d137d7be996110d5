"""A branch that fails by itself: no agent is to blame, and a person is told what to mend."""

import os

import pytest

from fleet.git.remote.trusted_remotes import trust_remote
from fleet.git.remote.upstream import Upstream
from tests.landings import NOW, LandHome
from tests.repos import Repo


@pytest.fixture
def place(tmp_path):
    place = LandHome(tmp_path)
    place.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    yield place
    place.queue.close()


def broken(place):
    """A person's own commit that fails the project's command."""
    return place.repo.commit("break it", **{"part-9": "bad\n"})


def test_a_candidate_is_not_sent_back_for_a_branch_that_fails_by_itself(place):
    """Both wait, the branch is verified once, and a person is told once; no try is counted."""
    tasks = [place.accepted(f"Add {n}", **{f"part_{n}": f"{n}\n"}) for n in (1, 2)]
    red = broken(place)
    (report,) = place.land()
    assert report.asks == tuple(tasks)
    for task in tasks:
        landing = place.landing(task)
        assert (landing.state, landing.tries, landing.red_line) == ("asks", 0, red)
        assert landing.why == (
            f"main itself fails `{place.verify}` (commit {red[:12]}):"
            f" mend main, or the command in the settings, and then: fleet land {task}"
        )
        assert landing.words() == "checked, waits until main itself passes"
    assert place.runs() == 4, "both together, each alone, and the branch"
    assert report.said == ()
    assert len(report.end.sentences) == 1
    assert ", ".join(tasks) in report.end.sentences[0]
    assert report.end.again_in > 0


def test_a_branch_that_fails_several_commands_is_blamed_for_that_of_each_task(place):
    """Directories of one repository have their own commands: each task is told of its own."""
    commands = ["test ! -e part-8", "test ! -e part-9", "test ! -e part-8"]
    tasks = [
        place.accepted(f"Add {n}", verify=(command,), **{f"part_{n}": f"{n}\n"})
        for n, command in enumerate(commands, start=1)
    ]
    place.repo.commit("break it", **{"part-8": "bad\n", "part-9": "bad\n"})
    (report,) = place.land()
    told = [place.landing(task).why.partition(" (")[0] for task in tasks]
    assert told == [f"main itself fails `{command}`" for command in commands]
    assert len(report.end.sentences) == 2


def test_what_waits_for_a_red_branch_is_tried_again_when_the_branch_moves(place):
    """By itself: as long as the branch stays where it is, nothing is verified."""
    task = place.accepted("Add 1", part_1="1\n")
    broken(place)
    place.land()
    runs = place.runs()
    place.land()
    assert (place.state(task), place.runs()) == ("asks", runs)
    place.repo.commit("mend it", **{"part-9": "nine\n"})
    place.land()
    assert (place.status(task), place.landing(task).red_line) == ("closed", "")


def test_a_red_branch_that_is_mended_on_its_remote_alone_is_followed(place, tmp_path):
    """What is pushed waits for the remote as well as for the branch here; what is not, does not."""
    bare = Repo(tmp_path / "remote.git", "--bare")
    place.repo.git("remote", "add", "origin", str(bare.root))
    place.repo.git("push", "-q", "-u", "origin", "main")
    upstream = Upstream(remote="origin", url=str(bare.root), branch="main")
    trust_remote(place.home.path, os.path.realpath(place.repo.root / ".git"), upstream, NOW)
    pushed = place.accepted("Add 1", part_1="1\n", to="push")
    here = place.accepted("Add 2", part_2="2\n", batch=1)
    broken(place)
    place.repo.git("push", "-q", "origin", "main")
    place.land()
    assert (place.state(pushed), place.state(here)) == ("asks", "asks")
    place.repo.git("clone", "-q", str(bare.root), str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    mended = other.commit("mend it", **{"part-9": "nine\n"})
    place.land()
    assert (place.state(pushed), place.state(here)) == ("asks", "asks"), "nothing was pushed yet"
    other.git("push", "-q", "origin", "main")
    place.land()
    assert place.status(pushed) == "closed"
    assert bare.git("merge-base", mended, "main") == mended
    place.land()
    assert place.status(here) == "closed", "the branch here has followed"


def test_work_that_mends_a_red_branch_lands(place):
    """And what waited for that lands with the next train."""
    waits = place.accepted("Add 1", part_1="1\n")
    red = broken(place)
    place.land()
    mends = place.accepted("Mend it", part_9="nine\n")
    place.land()
    assert place.status(mends) == "closed"
    assert place.landing(waits).red_line in ("", red)
    place.land()
    assert place.status(waits) == "closed"


def test_the_red_branch_is_remembered_until_a_person_says_try_again(place, tmp_path):
    """A newcomer costs one verification. What failed may be mended outside of the tree."""
    mended = tmp_path / "mended"
    verify = (f"echo run >> {place.ran}; test -e {mended} || ! test -e part-9",)
    first = place.accepted("Add 1", part_1="1\n", verify=verify)
    broken(place)
    place.land()
    assert place.runs() == 2
    second = place.accepted("Add 2", part_2="2\n", verify=verify, checked=False)
    place.land()
    assert (place.state(second), place.runs()) == ("asks", 3)
    mended.touch()
    place.approve(first)
    place.land()
    assert place.status(first) == "closed"


def test_what_only_the_task_asks_for_the_branch_need_not_pass(place):
    """Its own command fails without its work, as it should: the work goes back."""
    own = ("test -e part-1 && ! test -e part-9",)
    task = place.accepted("Add 1", part_1="1\n", verify=own, own=own)
    place.repo.commit("another", **{"part-9": "nine\n"})
    place.land()
    assert (place.state(task), place.landing(task).tries) == ("back", 1)


def test_a_set_up_that_fails_is_named_and_not_the_check_after_it(place):
    """A person would look for the fault in a command that was never run."""
    task = place.accepted("Add one", part_1="one\n", setup=("no-such-setup",))
    place.repo.commit("moved", README="moved\n")
    place.land()
    assert "main itself fails `set-up: no-such-setup`" in place.landing(task).why
