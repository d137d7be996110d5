"""The rules for work that was sent back, on merges that a real git made: what must be refused, and
what must pass.
"""

import pytest

from fleet.evidence.landing_rules import LANDING_RULES, landing_findings
from fleet.git.land.merge_facts import Hunk, MergedFile, MergeFacts
from tests.clones import git
from tests.sent_back import SentBack, sent_back

BEFORE = {
    "code": "".join(
        f"def {name}():\n    return {number}\n\n\n"
        for number, name in enumerate(("one", "two", "three"), 1)
    ).rstrip("\n")
    + "\n",
    "notes": "first note\nsecond note\n",
}
OWN = {"code": BEFORE["code"].replace("return 1", "return 'mine'")}
LANDED = {
    "code": BEFORE["code"].replace("return 1", "return 'theirs'").replace(
        "return 3\n", "return 3\n\n\ndef four():\n    return 'landed here'\n"
    ),
    "notes": "first note\nlanded note\nsecond note\n",
    "added": "a whole new file\n",
}  # fmt: skip
RESOLVED = LANDED["code"].replace("return 'theirs'", "return 'both'")


def in_conflict(root):
    sent = sent_back(root, before=BEFORE, own=OWN, landed=LANDED)
    assert sent.begin().files == ("code",)
    return sent


@pytest.fixture
def back(restored):
    sent = restored(in_conflict)
    git(sent.place, "status")  # the index knows files by their inodes, which are new
    return sent


def test_a_conflict_that_was_resolved_and_committed_is_fine(back):
    """The least that the agent has to do."""
    back.put(code=RESOLVED)
    back.commit()
    assert back.findings() == ()


@pytest.mark.parametrize("choice", ["mine", "theirs", "neither of the two"])
def test_what_stands_between_the_markers_is_the_agents_to_decide(back, choice):
    """Either side, or something else."""
    back.put(code=LANDED["code"].replace("return 'theirs'", f"return {choice!r}"))
    back.commit()
    assert back.findings() == ()


def test_a_merge_left_as_it_was_found_is_refused(back):
    """Markers and all, although the agent says that it is done."""
    (markers, unfinished) = back.findings()
    assert (markers.rule, unfinished.rule) == ("markers_left", "merge_unfinished")
    assert "code" in markers.what
    assert "MERGE_HEAD" in unfinished.what


def test_markers_that_were_committed_are_refused(back):
    """`git add -A && git commit` does not look at them."""
    back.commit()
    assert back.rules() == ["markers_left"]


def test_a_resolution_that_is_not_committed_is_unfinished(back):
    """The next commit would be a merge, and there is none yet."""
    back.put(code=RESOLVED)
    assert back.rules() == ["merge_unfinished"]
    git(back.place, "add", "-A")
    assert back.rules() == ["merge_unfinished"]


def test_an_index_that_is_not_merged_is_unfinished_without_merge_head(back):
    """An agent may remove the file."""
    back.put(code=RESOLVED)
    (back.place / ".git/MERGE_HEAD").unlink()
    assert back.rules() == ["merge_unfinished"]


def test_a_merge_that_was_aborted_is_not_on_target(back):
    """The work is as it was when it was sent back."""
    git(back.place, "merge", "--abort")
    assert "not_on_target" in back.rules()


def test_the_landed_files_copied_by_hand_are_not_on_target(back):
    """The tree is right, the history is not: it would conflict again."""
    git(back.place, "merge", "--abort")
    back.put(code=RESOLVED, notes=LANDED["notes"], added=LANDED["added"])
    back.commit()
    assert back.rules() == ["not_on_target"]


def test_a_rebase_instead_of_the_merge_is_fine(back):
    """What counts is that the line is in the history."""
    git(back.place, "merge", "--abort")
    git(back.place, "checkout", "-q", "-B", "again", back.line)
    back.put(code=RESOLVED)
    back.commit()
    assert back.findings() == ()


def test_taking_the_own_version_of_a_file_loses_what_landed_in_it(back):
    """`git checkout --ours`: the function that others added elsewhere in the file is gone."""
    back.put(code=OWN["code"])
    back.commit()
    (found,) = back.findings()
    assert found.rule == "lost_landed_work"
    assert "code: `def four():`, `return 'landed here'`" in found.what


@pytest.mark.parametrize(
    ("files", "name"),
    [({"notes": BEFORE["notes"]}, "notes"), ({"added": None}, "added"), ({"notes": None}, "notes")],
)
def test_a_file_that_was_not_its_own_is_not_set_back(back, files, name):
    """`git merge -s ours`, or a reset of what the agent did not know."""
    back.put(code=RESOLVED)
    back._put(back.place, files)
    back.commit()
    (found,) = back.findings()
    assert found.rule == "lost_landed_work"
    assert name in found.what


def test_a_strategy_that_takes_nothing_of_the_others_is_refused(back):
    """`git merge -s ours` is on target, and has lost all."""
    git(back.place, "merge", "--abort")
    git(back.place, "merge", "-q", "-s", "ours", "--no-edit", back.line)
    (found,) = back.findings()
    assert (found.rule, "notes" in found.what, "added" in found.what) == (
        "lost_landed_work", True, True,
    )  # fmt: skip


def test_a_refused_merge_stays_refused_when_the_task_is_begun_anew(back):
    """A person opens the task again: the clone has the line in its history, and not its work."""
    git(back.place, "merge", "--abort")
    git(back.place, "merge", "-q", "-s", "ours", "--no-edit", back.line)
    back.put(mine="more of mine\n")
    back.commit()
    assert back.begin().files == ()
    assert (back.begun.own, back.begun.tip) == (
        back.candidate, git(back.place, "rev-parse", "HEAD"),
    )  # fmt: skip
    assert back.rules() == ["lost_landed_work"]
    back.put(code=RESOLVED, notes=LANDED["notes"], added=LANDED["added"])
    back.commit()
    assert back.findings() == ()


def test_landed_lines_may_be_changed_to_fit(back):
    """A caller of what the task renamed: a line in the place of a line."""
    back.put(code=RESOLVED, notes="first note\nlanded note, which the work changes\nsecond note\n")
    back.commit()
    assert back.findings() == ()


def test_landed_lines_may_be_moved(back):
    """Into another file, or within their own."""
    back.put(code=RESOLVED.replace("\n\n\ndef four():\n    return 'landed here'\n", "\n"),
             more="def four():\n    return 'landed here'\n")  # fmt: skip
    back.put(notes="landed note\nfirst note\nsecond note\n")
    back.commit()
    assert back.findings() == ()


def test_a_landed_file_may_be_renamed(back):
    """All its lines are elsewhere."""
    back.put(code=RESOLVED)
    git(back.place, "mv", "added", "renamed")
    back.commit()
    assert back.findings() == ()


def test_new_work_beside_the_resolution_is_fine(back):
    """A test for the combination, a line in a landed file."""
    back.put(code=RESOLVED, test="new test\n", notes=LANDED["notes"] + "and one of mine\n")
    back.commit()
    assert back.findings() == ()


def test_lines_that_others_took_out_do_not_come_back(home, repo):
    """In a file that was not the task's."""
    back = SentBack(home, repo, before=BEFORE, own=OWN,
                    landed={"code": LANDED["code"], "notes": "first note\n"})  # fmt: skip
    back.begin()
    back.put(code=RESOLVED, notes=BEFORE["notes"])
    back.commit()
    (found,) = back.findings()
    assert (found.rule, "without what was landed" in found.what) == ("lost_landed_work", True)


def test_a_file_that_others_deleted_does_not_come_back(home, repo):
    """The same for a whole file."""
    back = SentBack(
        home, repo, before=BEFORE, own=OWN, landed={"code": LANDED["code"], "notes": None}
    )
    back.begin()
    back.put(code=RESOLVED, notes=BEFORE["notes"])
    back.commit()
    assert back.rules() == ["lost_landed_work"]


@pytest.mark.parametrize("keep", [True, False])
def test_a_file_that_one_side_deleted_is_the_agents_to_decide(home, repo, keep):
    """Git cannot merge it, and there is nothing between markers."""
    back = SentBack(
        home, repo, before=BEFORE, own={"notes": None}, landed={"notes": "landed note\n"}
    )
    assert back.begin().files == ("notes",)
    back._put(back.place, {"notes": "landed note\n"} if keep else {})
    if not keep:
        (back.place / "notes").unlink(missing_ok=True)
    back.commit()
    assert back.findings() == ()


def test_a_binary_file_in_conflict_is_the_agents_to_decide(home, repo):
    """One of the two versions, or a third."""
    back = SentBack(
        home, repo, before={"b": b"\0one"}, own={"b": b"\0two"}, landed={"b": b"\0three"}
    )
    assert back.begin().files == ("b",)
    back._put(back.place, {"b": b"\0two"})
    back.commit()
    assert back.findings() == ()


def test_a_binary_file_that_others_landed_is_not_set_back(home, repo):
    """Where the task had not touched it."""
    before = {**BEFORE, "b": b"\0one"}
    back = SentBack(home, repo, before=before, own=OWN, landed={**LANDED, "b": b"\0two"})
    back.begin()
    back.put(code=RESOLVED)
    back._put(back.place, {"b": b"\0one"})
    back.commit()
    assert back.rules() == ["lost_landed_work"]


def test_a_file_that_had_markers_before_keeps_them(home, repo):
    """A page about merging, a test of a parser: both sides may add to it."""
    sample = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    before = {"page": f"about\n\n{sample}\nmiddle\nof\nit\nall\n\nend\n", **BEFORE}
    own = {**OWN, "page": before["page"].replace("about\n", f"about\n\n{sample}\n")}
    landed = {"code": LANDED["code"], "page": before["page"] + f"\n{sample}"}
    back = SentBack(home, repo, before=before, own=own, landed=landed)
    assert back.begin().files == ("code",)
    assert back.read("page").count("<<<<<<<") == 3
    back.put(code=RESOLVED)
    back.commit()
    assert back.findings() == ()


def test_what_the_task_itself_had_deleted_may_stay_deleted(home, repo):
    """Lines of a file that others renamed meanwhile: git's own merge lacks them too."""
    text = "".join(f"line number {number}\n" for number in range(30))
    own = text.replace("line number 3\n", "")
    back = SentBack(
        home, repo, before={"old": text, **BEFORE}, own={**OWN, "old": own},
        landed={"code": LANDED["code"], "old": None, "new": text},
    )  # fmt: skip
    assert back.begin().files == ("code",)
    assert back.read("new") == own
    back.put(code=RESOLVED)
    back.commit()
    assert back.findings() == ()


def test_a_semantic_conflict_is_mended_in_any_way_that_keeps_the_others_work(home, repo):
    """The line was merged cleanly by fleet; both sides added the same helper in other places."""
    before = {"code": "start of it\n" + "filler line\n" * 20 + "end of it\n"}
    helper = "def helper():\n    return 'the same'\n"
    back = SentBack(
        home, repo, before=before, own={"code": helper + before["code"]},
        landed={"code": before["code"] + helper},
    )  # fmt: skip
    assert back.begin().files == ()
    back.put(code=helper + before["code"])  # it takes out the second one
    back.commit()
    assert back.rules() == []


def test_nothing_done_after_a_clean_merge_breaks_no_rule(home, repo):
    """Whether the work is right is for the verify commands to say."""
    back = SentBack(home, repo, before=BEFORE, own={"mine": "1\n"}, landed=LANDED)
    back.begin()
    assert back.findings() == ()


def test_a_merge_commit_that_was_reset_away_is_not_on_target(home, repo):
    """Fleet merged, the agent took it back."""
    back = SentBack(home, repo, before=BEFORE, own={"mine": "1\n"}, landed=LANDED)
    back.begin()
    git(back.place, "reset", "-q", "--hard", "HEAD^")
    assert back.rules() == ["not_on_target", "lost_landed_work"]


@pytest.mark.parametrize(
    ("hunk", "lost"),
    [
        (Hunk(removed=("landed line",)), True),
        (Hunk(removed=("landed line",), added=("old line",)), True),
        (Hunk(removed=("landed line",), added=("", "  }")), True),
        (Hunk(removed=("landed line",), added=("landed line, changed",)), False),
        (Hunk(removed=("line of the task",)), False),
        (Hunk(removed=("}",)), False),
    ],
)
def test_a_line_is_lost_if_nothing_stands_in_its_place(hunk, lost):
    """A bracket or an empty line is no replacement, nor is what stood there before."""
    file = MergedFile(path="f", landed=("landed line", "}"), taken_out=("old line",), hunks=(hunk,),
                      touched_before=True)  # fmt: skip
    found = landing_findings(MergeFacts(files=(file,)))
    assert bool(found) == lost


def test_a_finding_names_some_of_many():
    """A prompt has little room."""
    files = tuple(MergedFile(path=f"f{number}", markers=1) for number in range(9))
    (found,) = landing_findings(MergeFacts(files=files))
    assert found.what.endswith("f4 and 4 more")
    assert len(LANDING_RULES) == 4
