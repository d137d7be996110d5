"""Folding in repositories of every kind: only git's own ways of merging, and nothing is lost."""

import os
import resource
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from fleet.errors import FleetError
from fleet.git import repository
from fleet.git.git_command import GitFailed
from fleet.git.land import land_repository
from fleet.git.land.fold import Folded, fold
from fleet.git.land.land_repository import LandRepository, is_new_enough
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.move_line import Moved, move
from fleet.git.land.target import read_target
from tests.repos import ENV, Repo
from tests.unit.git.land.conftest import candidate, land_in, side

HOWS = pytest.mark.parametrize("how", ["merge", "squash"])
LINES = "one\ntwo\nthree\nfour\nfive\n"


def show(land, what):
    """A file of a commit, as bytes."""
    return land.git.ask("cat-file", "blob", what)


def on_main(repo, land, commit, how="merge"):
    target = read_target(land, "main")
    return fold(land.git, target.line, candidate(commit, how))


@HOWS
def test_no_merge_driver_or_filter_of_the_project_runs(repo, land, traps, how):
    """`.gitattributes` asks for them, and the configuration names a program."""
    repo.git("config", "commit.gpgSign", "false")
    repo.commit("attributes", _dot_gitattributes="* merge=evil filter=evil diff=evil\n")
    work = side(repo, a="one\ntwo\nthree\nfour\nFIVE\n")
    repo.commit("line", a="ONE\ntwo\nthree\nfour\nfive\n")
    repo.git("config", "commit.gpgSign", "true")
    traps.unlink()
    done = on_main(repo, land, work, how)
    assert show(land, f"{done.commit}:a") == b"ONE\ntwo\nthree\nfour\nFIVE\n"
    assert not traps.exists()


def test_gits_own_ways_of_merging_are_as_the_commits_ask_for_them(repo, land):
    """`union` keeps both sides, `-merge` none; what a working tree says has no say."""
    repo.commit(
        "attributes", _dot_gitattributes="log merge=union\nlock -merge\n", lock="1\n", log=""
    )
    work = side(repo, log="mine\n")
    locked = side(repo, lock="mine\n")
    repo.commit("line", log="theirs\n", lock="theirs\n")
    repo.put(".gitattributes", "log -merge\nlock merge=union\n")
    done = on_main(repo, land, work)
    assert show(land, f"{done.commit}:log") == b"theirs\nmine\n"
    assert on_main(repo, land, locked).files == ("lock",)


@HOWS
def test_a_commit_that_changes_nothing_any_more_is_not_dropped(repo, land, how):
    """The line has the same change from another hand: the commit is there all the same."""
    work = side(repo, "the same change", b="new\n")
    line = repo.commit("from another hand", b="new\n")
    done = on_main(repo, land, work, how)
    assert isinstance(done, Folded)
    assert done.commit != line
    assert done.tree == repo.git("rev-parse", f"{line}^{{tree}}")
    assert land.git.line("log", "-1", "--format=%s", done.commit) == "Add it"


def test_a_replacement_of_an_object_has_no_say(repo, land):
    """`refs/replace` would have git fold another commit than the verified one."""
    work, other = side(repo, b="verified\n"), side(repo, b="another\n")
    repo.git("replace", work, other)
    done = on_main(repo, land, work)
    assert show(land, f"{done.commit}:b") == b"verified\n"


@HOWS
def test_submodules_are_folded_as_git_does(repo, land, how):
    """One side: it moves. Both sides: a conflict, since only their own repository knows more."""
    entry = [f"160000,{str(number) * 40},sub" for number in (1, 2, 3)]
    with_submodule(repo, entry[0])
    work = side_with(repo, lambda: with_submodule(repo, entry[1]))
    repo.commit("line", z="z\n")
    done = on_main(repo, land, work, how)
    assert f"160000 commit {'2' * 40}" in land.git.line("ls-tree", done.commit, "sub")
    with_submodule(repo, entry[2])
    found = on_main(repo, land, work, how)
    assert isinstance(found, TreeConflict)
    assert found.files == ("sub",)


def with_submodule(repo, entry):
    repo.git("update-index", "--add", "--cacheinfo", entry)
    repo.git("commit", "-qm", "submodule")
    return repo.git("rev-parse", "HEAD")


def side_with(repo, act):
    repo.git("switch", "-q", "--detach")
    act()
    commit = repo.git("rev-parse", "HEAD")
    repo.git("switch", "-q", "main")
    return commit


def test_pointers_of_large_files_are_folded_as_text(repo, land):
    """Where both sides changed one, git-lfs is not asked, and the conflict is told."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"
    repo.commit("attributes", _dot_gitattributes="*.bin filter=lfs merge=lfs -text\n")
    repo.commit("large", x_dot_bin=pointer.format("0" * 64, 1))
    work = side(repo, y_dot_bin=pointer.format("1" * 64, 2))
    both = side(repo, x_dot_bin=pointer.format("2" * 64, 3))
    repo.commit("line", x_dot_bin=pointer.format("3" * 64, 4))
    assert show(land, f"{on_main(repo, land, work).commit}:y.bin").endswith(b"size 2\n")
    assert on_main(repo, land, both).files == ("x.bin",)


@HOWS
def test_renames_modes_and_links_are_folded(repo, land, how):
    """A rename in case alone, an executable bit, a link: each with an edit on the other side."""
    repo.put("Name", LINES)
    repo.put("run", LINES)
    repo.commit("more")

    def work():
        repo.git("mv", "Name", "name")
        (repo.root / "run").chmod(0o755)
        (repo.root / "link").symlink_to("a")
        repo.commit("work")

    made = side_with(repo, work)
    repo.commit("line", Name=LINES.replace("one", "ONE"), run=LINES.replace("two", "TWO"))
    done = on_main(repo, land, made, how)
    assert show(land, f"{done.commit}:name") == LINES.replace("one", "ONE").encode()
    rows = land.git.line("ls-tree", done.commit).splitlines()
    modes = {row.split("\t")[1]: row[:6] for row in rows}
    assert modes == {"a": "100644", "link": "120000", "name": "100644", "run": "100755"}


def test_a_link_against_a_directory_is_a_conflict(repo, land):
    """Each side made something else of the same name."""

    def work():
        (repo.root / "place").symlink_to("a")
        repo.commit("link")

    made = side_with(repo, work)
    repo.commit("line", place__file="in a directory\n")
    found = on_main(repo, land, made)
    assert isinstance(found, TreeConflict)
    assert any(name.startswith("place") for name in found.files)


@HOWS
def test_names_of_any_bytes_are_folded(repo, land, how):
    """And a conflict shows them as a person can read them."""
    odd = os.fsdecode(b"od\xffd\nname")

    def work():
        (repo.root / odd).write_text("mine\n")
        repo.commit("odd")

    made = side_with(repo, work)
    done = on_main(repo, land, made, how)
    assert b"od\xffd\nname\0" in land.git.ask("ls-tree", "-z", "--name-only", done.commit)
    (repo.root / odd).write_text("theirs\n")
    repo.commit("line")
    assert on_main(repo, land, made, how).files == ("od\\xffd\nname",)


@HOWS
def test_a_repository_with_sha256_lands_the_same_way(tmp_path, how):
    """Fold, proof and move."""
    repo = Repo(tmp_path / "long", "--object-format=sha256")
    repo.commit("first", a=LINES)
    work = side(repo, b="new\n")
    repo.commit("line", c="new\n")
    land = land_in(repo.root, tmp_path)
    done = on_main(repo, land, work, how)
    assert len(done.commit) == 64
    assert move(land, read_target(land, "main"), done.commit, why="land") == Moved(
        commit=done.commit
    )
    assert repo.git("status", "--porcelain") == ""


def test_a_shallow_repository_lands_what_its_history_reaches(repo, tmp_path):
    """And says so where the common commit is beyond its edge."""
    old = side(repo, b="new\n")
    repo.git("branch", "old", old)
    for number in range(3):
        repo.commit(f"line {number}", z=f"{number}\n")
    url = f"file://{repo.root}"
    repo.git("clone", "-q", "--depth=1", "--no-single-branch", url, str(tmp_path / "shallow"))
    shallow = Repo(tmp_path / "shallow")
    land = land_in(shallow.root, tmp_path)
    work = side(shallow, c="new\n")
    shallow.commit("line", d="new\n")
    done = on_main(shallow, land, work)
    assert isinstance(move(land, read_target(land, "main"), done.commit, why="land"), Moved)
    assert shallow.git("fsck", "--connectivity-only", "--no-dangling") == ""
    found = on_main(shallow, land, shallow.git("rev-parse", "origin/old"))
    assert isinstance(found, TreeConflict)
    assert "no commit in common" in found.text


def test_a_repository_without_a_commit_has_no_line(tmp_path):
    """There is nothing to land on; no error of git's."""
    repo = Repo(tmp_path / "empty")
    target = read_target(land_in(repo.root, tmp_path), "main")
    assert (target.tip, target.line) == ("", "")


def test_a_full_disk_in_mid_fold_says_so_and_leaves_nothing_half(repo, land):
    """The next fold, with room, is as any other."""
    work = side(repo, b=os.urandom(20_000).hex())
    repo.commit("line", b2="new\n", a=LINES.replace("one", "ONE"))
    line = read_target(land, "main").line
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
        with suppress(BaseException):
            with pytest.raises(GitFailed):
                fold(land.git, line, candidate(work))
            os._exit(0)
        os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    done = fold(land.git, line, candidate(work))
    argv = ["git", "--git-dir", land.own.git_dir, "fsck", "--no-dangling", done.commit]
    assert subprocess.run(argv, env=ENV, check=False, timeout=30).returncode == 0


def test_refs_in_a_table_are_read_and_left_alone(repo, land, monkeypatch):
    """Fleet's own directory cannot write them; the message says so."""
    work = side(repo, b="new\n")
    done = on_main(repo, land, work)
    with (repo.root / ".git/config").open("a") as file:
        file.write("; reftable\n")
    found = move(land, read_target(land, "main"), done.commit, why="land")
    assert "keeps its refs in a table" in found.why


@pytest.mark.parametrize(
    ("said", "fits"),
    [
        ("git version 2.38.0", True),
        ("git version 2.39.5 (Apple Git-154)", True),
        ("git version 3.0.0-rc1", True),
        ("git version 2.37.9", False),
        ("git version unknown", False),
    ],
)
def test_an_old_git_is_recognised(said, fits):
    assert is_new_enough(said) is fits


def test_an_old_git_is_named_with_the_way_out(repo, tmp_path, monkeypatch):
    """Landing alone needs a newer one."""
    monkeypatch.setattr(land_repository, "_OLDEST", (99, 0))
    with pytest.raises(FleetError, match=r"landing needs git 99\.0 or later"):
        LandRepository(tmp_path / "home", repository.find(str(repo.root)), time.monotonic() + 9)
