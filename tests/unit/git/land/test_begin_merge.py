"""The merge that an agent finds begun in its clone."""

from contextlib import suppress
from pathlib import Path

import pytest

from fleet.errors import FleetError
from fleet.git.land.begin_merge import plan_merge
from fleet.supervisor.cleanup import collect
from tests.clones import TASK, git
from tests.sent_back import SentBack, sent_back

BEFORE = {"f": "one\ntwo\nthree\n", "far": "1\n2\n3\n4\n5\n"}
OWN = {"f": "one\nmine\nthree\n", "new": "new\n"}
LANDED = {"f": "one\ntheirs\nthree\n", "far": "1\n2\n3\n4\nfive\n", "sub/x": "x\n"}


def in_conflict(root):
    return sent_back(root, before=BEFORE, own=OWN, landed=LANDED)


@pytest.fixture
def back(restored):
    return restored(in_conflict)


def test_the_agent_finds_markers_both_sides_and_the_rest_merged(back):
    """As `git merge main` leaves it, with the base between the sides."""
    assert back.begin().files == ("f",)
    assert back.read("f") == (
        f"one\n<<<<<<< fleet/{TASK}\nmine\n||||||| {back.read('f').split('||||||| ')[1][:7]}\ntwo\n"
        "=======\ntheirs\n>>>>>>> main\nthree\n"
    )
    assert (back.read("far"), back.read("sub/x"), back.read("new")) == (
        LANDED["far"], "x\n", "new\n",
    )  # fmt: skip
    place = back.place
    assert git(place, "rev-parse", "HEAD", "MERGE_HEAD").split() == [back.candidate, back.line]
    assert git(place, "symbolic-ref", "HEAD") == f"refs/heads/fleet/{TASK}"
    assert git(place, "status", "--porcelain").splitlines() == ["UU f", "M  far", "A  sub/x"]
    assert git(place, "diff", "--name-only", "--diff-filter=U") == "f"
    back.put(f="one\nboth\nthree\n")
    git(place, "add", "-A")
    git(place, "commit", "-q", "--no-edit")
    assert git(place, "log", "-1", "--format=%P|%s").split("|") == [
        f"{back.candidate} {back.line}", f"Merge main into fleet/{TASK}: the title",
    ]  # fmt: skip
    assert git(place, "fsck", "--strict", "--no-dangling") == ""


def test_a_clean_merge_is_committed_for_the_agent(home, repo):
    """A conflict only in meaning: the agent finds the line in its history."""
    back = SentBack(home, repo, before=BEFORE, own={"new": "n\n"}, landed={"far": "landed\n"})
    assert back.begin().files == ()
    assert git(back.place, "status", "--porcelain") == ""
    assert git(back.place, "log", "-1", "--format=%P") == f"{back.candidate} {back.line}"
    assert not (back.place / ".git/MERGE_HEAD").exists()
    assert back.read("far") == "landed\n"


def test_what_was_not_committed_is_part_of_the_work(home, repo):
    """The candidate of the project had it; here it becomes a commit before the merge."""
    back = SentBack(home, repo, before=BEFORE, own=OWN, landed=LANDED, uncommitted={"loose": "l\n"})
    begun = back.begin()
    assert repo.git("show", f"{begun.tip}:loose") == "l"
    assert repo.git("rev-parse", f"fleet/{TASK}", f"{begun.tip}^").split() == [
        begun.tip, back.candidate,
    ]  # fmt: skip
    assert git(back.place, "rev-parse", "HEAD") == begun.tip


def test_what_was_brought_home_before_a_kill_is_not_committed_twice(home, repo):
    """The process died before it wrote down what it meant."""
    back = SentBack(home, repo, before=BEFORE, own=OWN, landed=LANDED, uncommitted={"loose": "l\n"})
    plan = {"candidate": back.candidate, "left": "", "line": back.line, "title": "the title"}
    first = plan_merge(home, back.refs, **plan)
    assert plan_merge(home, back.refs, **plan) == first
    assert repo.git("for-each-ref", f"refs/fleet/{TASK}/left") == ""


def test_a_candidate_with_pinned_files_restored_is_what_the_agent_goes_on_from(home, repo):
    """The run left another version of them, which did not count when it was verified."""
    given, eased = {**BEFORE, "pin": "as given\n"}, {**OWN, "pin": "eased\n"}
    back = SentBack(home, repo, before=given, own=eased, landed=LANDED)
    left = repo.git("rev-parse", f"{back.candidate}^{{tree}}")
    repo.git("checkout", "-q", "--detach", back.candidate)
    back.candidate = repo.commit("pins as they were", pin="as given\n")
    repo.git("checkout", "-q", "main")
    assert back.begin(left=left).own == back.candidate
    assert back.read("pin") == "as given\n"


@pytest.mark.parametrize("since", ["", "loose"])
def test_what_a_history_claims_is_merged_all_the_same(home, repo, since):
    """The agent named a commit of the line as a parent, and has not what that commit brought."""
    back = SentBack(home, repo, before=BEFORE, own=OWN, landed={"later": "n\n"})
    base = repo.git("rev-parse", "main^")
    git(back.place, "merge", "-q", "-s", "ours", "-m", "merged", back.line)
    collect(home, TASK)
    back.candidate = repo.git("rev-parse", f"fleet/{TASK}")
    if since:
        back.put(**{since: "l\n"})
    assert not (back.place / "later").exists()
    back.begin(base=base)
    assert back.read("later") == "n\n"
    assert back.read("f") == OWN["f"]
    held = repo.git("for-each-ref", "--format=%(refname)", "--contains", back.candidate)
    assert held, "the agent's own commits stay"
    assert back.findings() == ()


@pytest.mark.parametrize("kept", ["", "f", "far", "MERGE_HEAD", "index"])
def test_a_merge_that_was_broken_off_is_begun_again_with_the_same_result(back, kept):
    """Whatever was not written yet when the supervisor was killed."""
    back.begin()
    seen = git(back.place, "status", "--porcelain")
    text = back.read("f")
    Path(back.place, "f").write_text(OWN["f"] if kept != "f" else text)
    Path(back.place, "far").write_text(BEFORE["far"] if kept != "far" else LANDED["far"])
    for name in ("MERGE_HEAD", "index"):
        if name != kept:
            (back.place / ".git" / name).unlink()
    back.again()
    assert (back.read("f"), git(back.place, "status", "--porcelain")) == (text, seen)
    assert list(back.place.rglob("*.aside-*")) == []


def test_a_file_that_a_person_wrote_meanwhile_is_put_aside(back):
    """Between a kill and the next supervisor: nothing is overwritten."""
    back.begin()
    Path(back.place, "f").write_text("a person's\n")
    back.again()
    assert "<<<<<<<" in back.read("f")
    (aside,) = back.place.glob("f.aside-*")
    assert aside.read_text() == "a person's\n"


def test_nothing_that_the_agent_set_up_in_its_clone_is_run(back):
    """Hooks, filters, drivers and monitors of its configuration."""
    trap = back.place.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {trap}.ran\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "merge.x.driver", "filter.x.clean", "filter.x.smudge"):
        git(back.place, "config", name, str(trap))
    for name in ("post-checkout", "post-merge", "reference-transaction", "post-index-change"):
        (back.place / ".git/hooks").mkdir(exist_ok=True)
        (back.place / ".git/hooks" / name).symlink_to(trap)
    (back.place / ".git/info/attributes").write_text("* filter=x merge=x\n")
    assert back.begin().files == ("f",)
    assert not trap.with_name("trap.ran").exists()


@pytest.mark.parametrize("name", ["objects", "refs", "refs/heads"])
def test_no_link_leads_out_of_the_clone(back, tmp_path, name):
    """What an agent made a link of is not written through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    dot = back.place / ".git"
    (dot / name).rename(outside / "moved")
    (dot / name).symlink_to(outside / "moved")
    before = sorted(path for path in outside.rglob("*") if path.is_file())
    with suppress(FleetError):  # or the merge goes on beside the link
        back.begin()
    assert sorted(path for path in outside.rglob("*") if path.is_file()) == before


def test_an_agents_own_branch_in_the_way_leaves_the_head_detached(back):
    """A branch `fleet` keeps `fleet/<id>` from being one."""
    git(back.place, "checkout", "-q", "--detach")
    git(back.place, "branch", "-D", f"fleet/{TASK}")
    git(back.place, "pack-refs", "--all", "--prune")
    folder = back.place / ".git/refs/heads/fleet"
    if folder.exists():
        folder.rmdir()
    git(back.place, "branch", "fleet")
    back.begin()
    assert (back.place / ".git/HEAD").read_text().strip() == back.candidate


def test_a_rebase_that_the_agent_left_is_out_of_the_way(back):
    """Git would go on with it at the next commit."""
    (back.place / ".git/rebase-merge").mkdir()
    back.begin()
    assert "rebase" not in git(back.place, "status")


def test_files_and_directories_that_change_places(home, repo):
    """A file of the task where the line has a directory now, and the other way round."""
    back = SentBack(
        home, repo, before={"a": "1\n", "b/c": "1\n", "f": "1\n"}, own={"f": "2\n"},
        landed={"a": None, "b/c": None, "f": "3\n"},
    )  # fmt: skip
    (repo.root / "a").mkdir()
    (repo.root / "a/x").write_text("x\n")
    if (repo.root / "b").exists():
        (repo.root / "b").rmdir()
    (repo.root / "b").write_text("b\n")
    line = repo.commit("changed places")
    assert back.begin(line=line).files == ("f",)
    assert (back.read("a/x"), back.read("b")) == ("x\n", "b\n")


def test_a_line_whose_history_was_begun_again_is_said_in_a_sentence(back):
    """A person rewrote the branch: no agent can merge the two, and git's own words help nobody."""
    back.repo.git("checkout", "-q", "--orphan", "anew")
    line = back.repo.commit("begun again")
    with pytest.raises(FleetError, match="have no commit in common") as told:
        back.begin(line=line)
    assert told.value.hint == f"To begin anew from main: fleet retry {TASK} --fresh."


def test_no_object_is_written_through_a_link_that_waits_for_its_copy(back, tmp_path):
    """An agent knows both sides of the merge, and so the names of the objects to come."""
    dot = back.place / ".git/objects"
    before = {path for path in dot.rglob("*") if path.is_file()}
    back.begin()
    fresh = {path for path in dot.rglob("*") if path.is_file()} - before
    assert fresh
    theirs = tmp_path / "bashrc"
    theirs.write_text("untouched\n")
    for path in fresh:
        path.unlink()
        path.with_name(f".{path.name}").symlink_to(theirs)
    back.again()
    assert theirs.read_text() == "untouched\n"
    assert all(path.is_file() and not path.is_symlink() for path in fresh)


def test_nothing_is_removed_or_renamed_through_a_directory_that_became_a_link(home, repo, tmp_path):
    """Files that the line removed are removed in the clone, and nowhere else."""
    back = SentBack(
        home, repo, before={"f": "1\n", "sub/gone": "1\n", "sub/x": "1\n"}, own={"f": "2\n"},
        landed={"f": "3\n", "sub/gone": None, "sub/x": "2\n"},
    )  # fmt: skip
    plan = back.plan = plan_merge(
        home, back.refs, candidate=back.candidate, left="", line=back.line, title="the title"
    )
    assert plan is not None
    outside = tmp_path / "outside"
    outside.mkdir()
    theirs = {name: f"of the operator: {name}\n" for name in ("gone", "x")}
    for name, text in theirs.items():
        (outside / name).write_text(text)
    (back.place / "sub").rename(back.place / "aside")
    (back.place / "sub").symlink_to(outside)
    with suppress(FleetError):
        back.again()
    assert {path.name: path.read_text() for path in outside.iterdir()} == theirs
