"""What a run found in a repository, and what it changed there."""

import os

import msgspec
import pytest

from fleet.git import run_baseline, tree_difference, tree_snapshot
from fleet.git.git_command import GitFailed
from fleet.git.run_baseline import base_now, record_base
from fleet.git.snapshot_names import ref_of
from fleet.home import Home
from fleet.runs.run_directory import Run
from fleet.schemas import Base
from tests.clones import TASK, clone_of
from tests.conftest import need
from tests.repos import Repo, RunIn


@pytest.fixture
def repo(repo):
    repo.commit(a_dot_txt="one\n", src__b_dot_txt="two\n", _dot_gitignore="*.o\n")
    return repo


def test_no_repository_has_no_base(tmp_path):
    """And no process is started to find out."""
    assert record_base(str(tmp_path), "fleet-1/1", home=tmp_path / "home") is None


def test_what_was_unfinished_at_the_start_is_no_change_of_the_run(repo, tmp_path):
    """Neither edited, nor staged, nor new files of the user's."""
    repo.write(a_dot_txt="edited\n", new_dot_txt="new\n", staged_dot_txt="staged\n")
    repo.git("add", "staged.txt")
    run = RunIn(tmp_path, repo)
    assert run.files() == {}
    assert run.changes().diff == ""


def test_what_the_run_did_is_told_file_by_file(repo, tmp_path):
    """With its lines, also in files that the user had not finished."""
    repo.write(a_dot_txt="edited\n")
    run = RunIn(tmp_path, repo)
    repo.write(a_dot_txt="edited\nby the run\n", added_dot_txt="1\n2\n")
    (repo.root / "src/b.txt").unlink()
    changes = run.changes()
    assert [(each.path, each.kind, each.added, each.removed) for each in changes.files] == [
        ("a.txt", "changed", 1, 0),
        ("added.txt", "added", 2, 0),
        ("src/b.txt", "deleted", 0, 1),
    ]
    assert "+by the run" in (run.dir / changes.diff).read_text()
    assert "-one" not in (run.dir / changes.diff).read_text()


def test_ignored_files_are_not_looked_at(repo, tmp_path):
    """Neither at the start nor at the end."""
    run = RunIn(tmp_path, repo)
    repo.put("x.o", "object")
    assert run.files() == {}


def test_a_file_that_was_committed_counts_whatever_rule_ignores_it(repo, tmp_path):
    """The agent said with `git add -f` that it belongs to the work; a person's own rules may be
    unknown to the agent.
    """
    run = RunIn(tmp_path, repo)
    repo.put("x.o", "object")
    repo.git("add", "-f", "x.o")
    repo.git("commit", "-q", "-m", "with its object")
    repo.put("y.o", "no part of it")
    assert run.files() == {"x.o": "added"}


def test_the_users_repository_is_left_as_it_was(repo, tmp_path):
    """The index to the byte, the state, the branches."""
    repo.write(a_dot_txt="edited\n", new_dot_txt="new\n")
    index = (repo.root / ".git/index").read_bytes()
    before = repo.git("status", "--porcelain=v2", "--branch"), repo.git("branch", "-a")
    run = RunIn(tmp_path, repo)
    repo.put("more.txt", "")
    run.changes()
    assert (repo.root / ".git/index").read_bytes() == index
    (repo.root / "more.txt").unlink()
    assert (repo.git("status", "--porcelain=v2", "--branch"), repo.git("branch", "-a")) == before


def test_the_start_is_held_whatever_becomes_of_the_branch(repo, tmp_path):
    """Unfinished work and new files can be had again after a reset and a garbage collection."""
    repo.write(a_dot_txt="edited\n", new_dot_txt="new\n")
    run = RunIn(tmp_path, repo)
    repo.git("clean", "-fdqx")
    repo.git("checkout", "-q", "--orphan", "else")
    repo.git("reset", "-q", "--hard")
    repo.git("branch", "-D", "main")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert run.git("show", f"{run.base.snapshot}:a.txt") == "edited"
    assert run.git("show", f"{run.base.snapshot}:new.txt") == "new"
    assert run.git("rev-parse", ref_of(run.key)) == run.base.snapshot


def test_commits_since_the_start_are_named_and_their_files_too(repo, tmp_path):
    """Committed or not, a change is a change."""
    run = RunIn(tmp_path, repo)
    first = repo.commit(a_dot_txt="first\n")
    second = repo.commit(c_dot_txt="second\n")
    changes = run.changes()
    assert changes.commits == (second, first)
    assert {each.path for each in changes.files} == {"a.txt", "c.txt"}


def test_flags_in_the_agents_index_hide_nothing(repo, tmp_path):
    """An index that is told to look away is not the one that is asked."""
    run = RunIn(tmp_path, repo)
    repo.git("update-index", "--assume-unchanged", "a.txt")
    repo.git("update-index", "--skip-worktree", "src/b.txt")
    repo.write(a_dot_txt="hidden\n", src__b_dot_txt="hidden\n")
    assert repo.git("status", "--porcelain") == ""
    assert run.files() == {"a.txt": "changed", "src/b.txt": "changed"}


@pytest.mark.parametrize("index", [None, b"", b"not an index"])
def test_without_the_index_of_the_start_the_answer_is_the_same(repo, tmp_path, index):
    """It only takes longer."""
    run = RunIn(tmp_path, repo)
    kept = run.dir.parent.parent / run_baseline.INDEX
    kept.unlink()
    if index is not None:
        kept.write_bytes(index)
    repo.write(a_dot_txt="hidden\n")
    repo.git("add", "-A")
    assert run.files() == {"a.txt": "changed"}


def test_a_change_within_one_tick_of_the_clock_is_seen(repo, tmp_path):
    """Same size, same time as the index: git looks at the content, if the copy keeps its time."""
    run_time = 1_600_000_000_000_000_000
    repo.put("a.txt", "one\n")
    os.utime(repo.root / "a.txt", ns=(run_time, run_time))
    repo.git("update-index", "--refresh", ok=False)
    os.utime(repo.root / ".git/index", ns=(run_time, run_time))
    repo.put("a.txt", "two\n")
    os.utime(repo.root / "a.txt", ns=(run_time, run_time))
    run = RunIn(tmp_path, repo)
    assert run.git("show", f"{run.base.snapshot}:a.txt") == "two"


def test_a_repository_without_a_commit_has_a_base(tmp_path):
    """The first commit is then the run's."""
    need("git")
    repo = Repo(tmp_path / "repo")
    repo.put("draft.txt", "mine\n")
    run = RunIn(tmp_path, repo)
    assert (run.base.head, run.base.branch) == ("", "refs/heads/main")
    first = repo.commit(done_dot_txt="run\n")
    changes = run.changes()
    assert changes.commits == (first,)
    assert [each.path for each in changes.files] == ["done.txt"]


def test_a_detached_head_and_a_worktree_are_bases_too(repo, tmp_path):
    """Each working tree is its own; the ref is where all of them can see it."""
    place = tmp_path / "tree"
    repo.git("worktree", "add", "-q", "--detach", str(place))
    run = RunIn(tmp_path, repo, cwd=place / "src")
    assert run.base.root == str(place)
    assert run.base.branch == ""
    assert run.base.head == repo.git("rev-parse", "HEAD")
    (place / "src/b.txt").write_text("changed\n")
    assert run.files() == {"src/b.txt": "changed"}
    assert run.git("rev-parse", ref_of(run.key)) == run.base.snapshot


def test_a_merge_in_conflict_and_a_stale_lock_are_no_obstacle(repo, tmp_path):
    """The index is a copy, and what is in conflict is taken as it lies there."""
    repo.git("checkout", "-q", "-b", "other")
    repo.commit(a_dot_txt="theirs\n")
    repo.git("checkout", "-q", "main")
    repo.commit(a_dot_txt="ours\n")
    repo.git("merge", "other", ok=False)
    (repo.root / ".git/index.lock").touch()
    run = RunIn(tmp_path, repo)
    assert run.base.trouble == ""
    assert "<<<<<<<" in run.git("show", f"{run.base.snapshot}:a.txt")
    assert run.files() == {}
    repo.write(a_dot_txt="resolved\n")
    assert run.files() == {"a.txt": "changed"}


def test_files_become_directories_and_the_other_way_round(repo, tmp_path):
    """And links."""
    run = RunIn(tmp_path, repo)
    (repo.root / "a.txt").unlink()
    repo.put("a.txt/inner", "x\n")
    (repo.root / "src/b.txt").unlink()
    (repo.root / "src").rmdir()
    (repo.root / "src").symlink_to("a.txt")
    expected = {
        "a.txt": "deleted", "a.txt/inner": "added", "src": "added", "src/b.txt": "deleted",
    }  # fmt: skip
    assert run.files() == expected
    repo.put("a.txt/b.txt", "what src/b.txt seems to be\n")
    assert run.files() == expected | {"a.txt/b.txt": "added"}


def test_any_name_can_be_told_and_written_down(repo, tmp_path):
    """Spaces, line ends, quotes, bytes that are no text."""
    run = RunIn(tmp_path, repo)
    names = [b"with space", b"line\nend", b'"quoted"', "ü".encode(), b"bad\xff", b":(top)x"]
    for name in names:
        with open(os.fsencode(repo.root) + b"/" + name, "wb"):  # noqa: PTH123
            pass
    changes = run.changes()
    assert {each.path for each in changes.files} == {
        "with space", "line\nend", '"quoted"', "ü", "bad\\xff", ":(top)x",
    }  # fmt: skip
    msgspec.json.encode(changes)


def test_a_large_new_file_is_left_out_and_named(repo, tmp_path, monkeypatch):
    """It would be stored twice; one that the run makes is named as added."""
    monkeypatch.setattr(tree_snapshot, "LARGEST", 1000)
    repo.put("film.mp4", "x" * 1001)
    run = RunIn(tmp_path, repo)
    assert "film.mp4" in run.base.trouble
    assert run.git("ls-tree", "-r", "--name-only", run.base.snapshot).split() == [
        ".gitignore", "a.txt", "src/b.txt",
    ]  # fmt: skip
    assert run.files() == {}
    repo.put("mine.mp4", "x" * 1001)
    changes = run.changes()
    assert [(each.path, each.kind) for each in changes.files] == [("mine.mp4", "added")]
    assert "mine.mp4" in changes.trouble
    assert "film.mp4" not in changes.trouble


def test_too_many_new_files_are_left_out_on_both_sides(repo, tmp_path, monkeypatch):
    """No receipt says that the run made what was there before."""
    monkeypatch.setattr(tree_snapshot, "MOST_FILES", 3)
    for number in range(4):
        repo.put(f"new{number}", "")
    run = RunIn(tmp_path, repo)
    assert "too many new files" in run.base.trouble
    (repo.root / "new0").unlink()
    repo.write(a_dot_txt="changed\n")
    changes = run.changes()
    assert {each.path: each.kind for each in changes.files} == {
        "a.txt": "changed", "new0": "deleted",
    }  # fmt: skip


def test_too_many_new_files_hide_no_other(repo, tmp_path, monkeypatch):
    """A run that floods its directory is still seen to write elsewhere."""
    monkeypatch.setattr(tree_snapshot, "MOST_FILES", 3)
    run = RunIn(tmp_path, repo)
    for number in range(4):
        repo.put(f"src/flood{number}", "")
    repo.put("elsewhere.txt", "hidden?\n")
    changes = run.changes()
    assert "too many new files" in changes.trouble
    assert {each.path for each in changes.files} >= {"elsewhere.txt", "src/flood3"}


def test_a_secret_is_never_stored_and_its_change_is_seen(repo, tmp_path):
    """Neither at the start nor at the end; a file that git tracks is the user's choice."""
    repo.commit(_dot_env_dot_example="KEY=\n", tracked_dot_pem="public\n")
    repo.put(".env.local", "KEY=one\n")
    repo.put("id_ed25519", "PRIVATE\n")
    run = RunIn(tmp_path, repo)
    assert run.base.trouble == ""
    assert run.files() == {}
    repo.put(".env.local", "KEY=two\n")
    (repo.root / "id_ed25519").unlink()
    repo.put("deploy.key", "NEW\n")
    repo.put("tracked.pem", "changed\n")
    assert run.files() == {
        ".env.local": "changed", "id_ed25519": "deleted", "deploy.key": "added",
        "tracked.pem": "changed",
    }  # fmt: skip
    names = run.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    blobs = [line.split()[0] for line in names.splitlines() if line.endswith(" blob")]
    stored = {run.git("cat-file", "blob", blob) for blob in blobs}
    assert "public" in stored
    assert not stored & {"KEY=one", "KEY=two", "PRIVATE", "NEW"}


def test_staged_files_survive_the_projects_garbage_collection(repo, tmp_path):
    """They are in no commit, so fleet keeps them itself."""
    repo.put("staged.txt", "staged\n")
    repo.git("add", "staged.txt")
    run = RunIn(tmp_path, repo)
    repo.git("rm", "-qf", "staged.txt")
    repo.git("gc", "-q", "--prune=now")
    assert run.git("show", f"{run.base.snapshot}:staged.txt") == "staged"


def test_the_ignore_rules_are_those_of_the_start(repo, tmp_path, monkeypatch):
    """The user's file and info/exclude count, and what an agent adds to them does not."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    mine = tmp_path / "user/ignore"
    mine.parent.mkdir()
    mine.write_text("*.swp\n")
    (tmp_path / "user/.gitconfig").write_text("[core]\n\texcludesFile = ~/ignore\n")
    repo.put(".git/info/exclude", "*.log\n")
    run = RunIn(tmp_path, repo)
    repo.write(x_dot_swp="", x_dot_log="", x_dot_txt="", y_dot_txt="")
    mine.write_text("x.txt\n")
    repo.put(".git/info/exclude", "y.txt\n")
    assert run.files() == {"x.txt": "added", "y.txt": "added"}


def test_a_split_index_is_no_obstacle(repo, tmp_path):
    """Half of it lies in a file of its own."""
    repo.git("update-index", "--split-index")
    run = RunIn(tmp_path, repo)
    assert run.base.trouble == ""
    repo.write(a_dot_txt="changed\n")
    assert run.files() == {"a.txt": "changed"}


def test_a_repository_with_long_names_has_a_base(tmp_path):
    """Fleet's own repository names objects as the project does."""
    need("git")
    repo = Repo(tmp_path / "repo", "--object-format=sha256")
    repo.commit(a_dot_txt="one\n")
    run = RunIn(tmp_path, repo)
    assert (run.base.trouble, len(run.base.snapshot)) == ("", 64)
    repo.write(a_dot_txt="changed\n")
    assert run.files() == {"a.txt": "changed"}


def test_a_shallow_clone_has_a_base_and_commits(repo, tmp_path):
    """Its history ends where the clone was cut off."""
    repo.commit(a_dot_txt="two\n")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.root}", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    run = RunIn(tmp_path, clone)
    made = clone.commit(b="new")
    assert run.changes().commits == (made,)


def test_a_repository_inside_is_anothers(repo, tmp_path):
    """It is neither taken in nor told of, and does no harm, even without a commit."""
    Repo(repo.root / "inner").put("x", "")
    Repo(repo.root / "other").commit(x="1")
    run = RunIn(tmp_path, repo)
    assert run.base.trouble == ""
    Repo(repo.root / "third").put("y", "")
    assert run.files() == {}


def test_fleets_own_home_in_a_project_is_no_change(tmp_path):
    """Else every run would have changed its own records."""
    need("git")
    repo = Repo(tmp_path)
    repo.commit(a="1")
    run = RunIn(tmp_path, repo)
    (run.dir / "stdout").write_text("said\n")
    assert run.files() == {}


def test_a_repository_in_the_users_home_is_nobodys_project(repo, tmp_path, monkeypatch):
    """Unless it is the very directory: dotfiles would make a project of everything."""
    monkeypatch.setenv("HOME", str(repo.root))
    assert record_base(str(repo.root / "src"), "fleet-1/1", home=tmp_path / "home") is None
    assert record_base(str(repo.root), "fleet-1/1", home=tmp_path / "home") is not None


def test_without_git_the_base_says_so(repo, tmp_path, monkeypatch):
    """And so do the changes."""
    monkeypatch.setenv("PATH", str(tmp_path))
    run = RunIn(tmp_path, repo)
    assert "git is not installed" in run.base.trouble
    assert "git is not installed" in run.changes().trouble


def test_a_repository_that_takes_too_long_is_given_up(repo, tmp_path, monkeypatch):
    """The run begins without a snapshot, and everybody can see why."""
    monkeypatch.setattr(run_baseline, "LIMIT", 0.0)
    run = RunIn(tmp_path, repo)
    assert "took too long" in run.base.trouble
    assert run.base.snapshot == ""
    assert list((repo.root / ".git").glob("refs/fleet/**/*")) == []


def test_no_run_begins_in_a_clone_that_takes_too_long_to_read(repo, tmp_path, monkeypatch):
    """Its commits would be unknown at the end, and its own `.git` would count as tampered with."""
    home = Home(tmp_path / "home")
    home.tasks.mkdir(parents=True)
    place = clone_of(home, repo)
    monkeypatch.setattr(run_baseline, "LIMIT", 0.0)
    assert record_base(str(place), f"{TASK}/1", home=home.path).snapshot
    monkeypatch.setattr(run_baseline, "LIMIT_AFTER", 0.0)
    with pytest.raises(GitFailed, match=r"clone cannot be read: .*took too long"):
        record_base(str(place), f"{TASK}/2", home=home.path)


def test_a_repository_that_is_gone_at_the_end_is_trouble_not_an_error(repo, tmp_path):
    """The agent may have deleted it."""
    run = RunIn(tmp_path, repo)
    (repo.root / ".git").rename(tmp_path / "elsewhere")
    assert "no repository any more" in run.changes().trouble
    assert base_now(run.base, run.home).gone


def test_a_broken_repository_is_trouble_not_an_error(repo, tmp_path):
    """It is not fleet's to repair."""
    (repo.root / ".git/index").write_bytes(b"garbage")
    run = RunIn(tmp_path, repo)
    assert run.base.snapshot == ""
    assert "index" in run.base.trouble
    assert run.base.head == repo.git("rev-parse", "HEAD")


def test_many_files_and_a_long_difference_are_cut(repo, tmp_path, monkeypatch):
    """The count is right all the same."""
    monkeypatch.setattr(run_baseline, "MOST_FILES", 2)
    for module in (run_baseline, tree_difference):
        monkeypatch.setattr(module, "MOST_DIFF", 50)
    run = RunIn(tmp_path, repo)
    for number in range(5):
        repo.put(f"new{number}", "text\n")
    changes = run.changes()
    assert (len(changes.files), changes.more, changes.count) == (2, 3, 5)
    assert "cut" in changes.trouble
    assert (run.dir / changes.diff).stat().st_size == 50


def test_refs_and_guarded_files_are_told_by_name(repo, tmp_path):
    """Branches of the run's own and refs of fleet's are not among them."""
    repo.git("branch", "other")
    repo.git("tag", "v1")
    repo.put(".claude/settings.json", "{}")
    repo.put(".git/hooks/pre-push", "#!/bin/sh\n")
    found = record_base(str(repo.root), "fleet-1/1", home=tmp_path / "home")
    head = repo.git("rev-parse", "HEAD")
    assert found.refs == {"refs/heads/other": head, "refs/tags/v1": head}
    assert {".git/config", ".git/hooks/pre-push", ".claude/settings.json"} <= set(found.guarded)
    assert not [name for name in found.guarded if name.endswith(".sample")]
    now = base_now(found, tmp_path / "home")
    assert (now.refs, now.guarded, now.head) == (found.refs, found.guarded, head)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Base) == found


def test_copies_of_an_index_that_a_killed_process_left_are_removed_once_they_are_old(
    tmp_path, monkeypatch
):
    """One that is in use stays, and so does what only has such a name."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old, used = tmp_path / "fleet-index-old", tmp_path / "fleet-index-used"
    for folder in (old, used):
        folder.mkdir()
        (folder / "index").write_bytes(b"DIRC")
    (tmp_path / "fleet-index-link").symlink_to(used)
    os.utime(old, (1, 1))
    os.utime(tmp_path / "fleet-index-link", (1, 1), follow_symlinks=False)
    tree_snapshot.drop_left_copies(before=1000.0)
    assert {each.name for each in tmp_path.iterdir()} == {"fleet-index-used", "fleet-index-link"}
    assert (used / "index").exists()


def test_a_tree_that_was_stored_counts_whatever_was_built_since(tmp_path, repo):
    """A supervisor died while the commands were at work; the next one inspects the run again."""
    repo.commit(a="1\n")
    run = RunIn(tmp_path, repo)
    repo.put("work", "w\n")
    first = run.changes()
    repo.put("built", "b\n")
    again = run_baseline.changes_since(run.base, Run(run.dir), stored=True)
    assert (again.tree, again.files) == (first.tree, first.files)
    other = RunIn(tmp_path, repo, number=2)
    repo.put("more", "m\n")  # a run that changed nothing, and then its commands
    assert run_baseline.changes_since(other.base, Run(other.dir), stored=True).files == ()
