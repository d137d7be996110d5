"""Where a run may go: every rule both ways."""

import os

import pytest
from msgspec import structs

from fleet.evidence.scope_rules import RULES, LostDirectory, ScopeFacts, scope_findings
from fleet.git.refs import ELSEWHERE, BaseAfter
from fleet.schemas import Base, Changes, FileChange, Policy

ROOT = "/srv/app"
BASE = Base(
    root=ROOT, head="a1", branch="refs/heads/main", snapshot="b2",
    refs={"refs/heads/other": "c3", "refs/tags/v1": "d4", "refs/heads/elsewhere": f"{ELSEWHERE}e5"},
    guarded={".git/config": "x", ".mcp.json": "y"},
)  # fmt: skip
NOW = BaseAfter(
    **{name: getattr(BASE, name) for name in BASE.__struct_fields__ if name != "snapshot"}
)


def broken(*files, base=BASE, policy=None, cwd=ROOT, lost=(), in_same_tree=(), changes=None, **now):
    """The rules that are broken, with what is said of each."""
    changes = changes or Changes(base="b2", files=tuple(files))
    state = structs.replace(NOW, **now)
    facts = ScopeFacts(
        base=base, now=state, changes=changes, policy=policy or Policy(),
        inside=os.path.relpath(cwd, ROOT), lost=lost, in_same_tree=in_same_tree,
    )  # fmt: skip
    return {finding.rule: finding.what for finding in scope_findings(facts)}


def changed(path, kind="changed"):
    return FileChange(path=path, kind=kind)


def test_each_rule_has_an_id_and_a_sentence():
    """They are what people read, and what events are counted by."""
    assert len(RULES) == 5
    assert all(sentence.endswith(".") for sentence, _ in RULES.values())


def test_without_a_scope_the_whole_tree_is_the_tasks():
    """If its directory is the top of it."""
    assert broken(changed("anything/at/all")) == {}


def test_a_directory_below_the_top_is_the_scope():
    """A change elsewhere in the same repository is not the task's."""
    assert broken(changed("web/x.py"), cwd=f"{ROOT}/web") == {}
    found = broken(changed("web/x.py"), changed("README"), cwd=f"{ROOT}/web")
    assert "README" in found["outside_scope"]
    assert "x.py" not in found["outside_scope"]


def test_a_task_may_say_more_or_less():
    """Patterns are from its directory on, or from the top."""
    policy = Policy(scope=("**", "/docs/**"))
    assert broken(changed("web/x"), changed("docs/y"), policy=policy, cwd=f"{ROOT}/web") == {}
    policy = Policy(scope=("src/**",))
    assert "tests/x.py" in broken(changed("tests/x.py"), policy=policy)["outside_scope"]
    assert broken(changed("src/x.py"), policy=policy) == {}


def test_more_files_than_are_listed_cannot_be_vouched_for():
    """Only where there is a scope to be kept."""
    many = Changes(base="b2", files=(changed("src/x"),), more=500)
    assert "too many" in broken(changes=many, policy=Policy(scope=("src/**",)))["outside_scope"]
    assert broken(changes=many) == {}


@pytest.mark.parametrize(
    ("tracked", "files", "size", "is_bulk"),
    [
        (100, 20, 0, False),
        (100, 21, 0, True),
        (1000, 100, 0, False),
        (1000, 101, 0, True),
        (10, 10, 500, False),
        (10, 1, 1 << 20, False),
        (10, 1, (1 << 20) + 1, True),
    ],
)
def test_a_deletion_in_bulk(tracked, files, size, is_bulk):
    """More than twenty files and a tenth of all, or more than a mebibyte."""
    gone = tuple(changed(f"data/{number}", "deleted") for number in range(files))
    lost = Changes(base="b2", files=gone, tracked=tracked, lost_files=files, lost_bytes=size)
    assert ("bulk_deletion" in broken(changes=lost)) is is_bulk


def test_guarded_files_are_told_whether_changed_added_or_gone():
    """Each by its name."""
    found = broken(guarded={".git/config": "other", ".git/hooks/pre-commit": "z"})
    for name in (".git/config", ".git/hooks/pre-commit", ".mcp.json"):
        assert name in found["guarded_files"]


def test_a_setting_that_the_task_names_is_its_own():
    """A pattern that happens to match everything names nothing, and git's own are never named."""
    now = {".git/config": "x", ".mcp.json": "other"}
    assert broken(guarded=now, policy=Policy(scope=("src/**", ".mcp.json"))) == {}
    assert "guarded_files" in broken(guarded=now, policy=Policy(scope=("**",)))
    assert "guarded_files" in broken(guarded=now, policy=Policy(scope=("*.json",)))
    now = {".git/config": "other", ".mcp.json": "y"}
    assert "guarded_files" in broken(guarded=now, policy=Policy(scope=(".git/**",)))


def test_commits_on_the_own_branch_and_new_refs_are_work():
    """So is a new branch, checked out or not."""
    assert broken(head="f6") == {}
    assert broken(refs={**BASE.refs, "refs/heads/new": "f6", "refs/tags/v2": "f6"}) == {}
    own = {**BASE.refs, "refs/heads/main": "a1"}
    assert broken(head="f6", branch="refs/heads/new", refs=own) == {}


def test_refs_of_others_are_left_alone():
    """Moved, deleted, or deleted although it was checked out elsewhere."""
    found = broken(refs={**BASE.refs, "refs/heads/other": "f6"})
    assert found["moved_refs"] == "moved refs/heads/other"
    found = broken(refs={"refs/heads/elsewhere": f"{ELSEWHERE}e5", "refs/tags/v1": "d4"})
    assert found["moved_refs"] == "deleted refs/heads/other"
    gone = {name: commit for name, commit in BASE.refs.items() if "elsewhere" not in name}
    assert "deleted refs/heads/elsewhere" in broken(refs=gone)["moved_refs"]


def test_the_branch_that_was_left_may_not_go():
    """Switched away and deleted."""
    found = broken(head="f6", branch="refs/heads/new")
    assert found["moved_refs"] == "deleted refs/heads/main"


@pytest.mark.parametrize("at", ["f6", f"{ELSEWHERE}f6"])
def test_a_branch_checked_out_in_another_tree_moves_by_itself(at):
    """The user or another task works there."""
    assert broken(refs={**BASE.refs, "refs/heads/elsewhere": at}) == {}
    assert broken(refs={**BASE.refs, "refs/heads/other": f"{ELSEWHERE}f6"}) == {}


def test_commits_may_not_be_taken_away_from_a_branch_of_the_users():
    """In a clone of its own all refs are the task's, to be moved and deleted."""
    assert "took commits away from refs/heads/main" in broken(head="f6", rewound=True)["moved_refs"]
    own = structs.replace(BASE, branch="refs/heads/fleet/fleet-1")
    policy = Policy(work_in="clone")
    assert broken(base=own, policy=policy, head="f6", branch=own.branch, rewound=True) == {}
    assert broken(base=own, policy=policy, head="f6", branch=own.branch, refs={}) == {}


def test_the_git_directory_of_a_clone_is_its_tasks_own():
    """A tool that sets a hook or a setting there changes nothing that anybody else runs."""
    policy = Policy(work_in="clone")
    assert broken(policy=policy, guarded={**BASE.guarded, ".git/config": "new"}) == {}
    found = broken(policy=policy, guarded={**BASE.guarded, ".mcp.json": "new"})
    assert ".mcp.json" in found["guarded_files"]


def test_a_repository_that_is_gone_is_a_trespass():
    """The agent may have removed it."""
    found = broken(head="", branch="", refs={}, guarded={}, gone=True)
    assert "no repository any more" in found["moved_refs"]


def test_a_repository_that_cannot_be_read_is_no_trespass():
    """A disk, or rights that a person changed, say nothing about the run."""
    assert broken(head="", branch="", refs={}, damage="git failed") == {}


def test_a_sibling_that_lost_its_files_is_named():
    """With its task."""
    losses = (
        LostDirectory(task_id="fleet-2", place="/srv/two", before=40, after=0),
        LostDirectory(task_id="fleet-3", place="/srv/three", before=9),
    )
    found = broken(lost=losses)
    assert "/srv/two of fleet-2 has 0 files where 40 were" in found["sibling_touched"]
    assert "/srv/three of fleet-3 is gone" in found["sibling_touched"]
    doubtful = LostDirectory(task_id="fleet-3", place="/srv/three", before=9, or_by=("fleet-4",))
    found = broken(lost=(doubtful,))
    assert "by this run or by fleet-4: fleet cannot tell" in found["sibling_touched"]


def test_who_else_was_there_is_said_with_every_finding():
    """Two runs in one tree cannot be told apart, and no finding pretends to."""
    others = ("fleet-2",)
    found = broken(changed("README"), cwd=f"{ROOT}/web", in_same_tree=others)
    assert "fleet-2 worked in the same tree" in found["outside_scope"]
    assert broken(in_same_tree=others) == {}
