"""Where a branch stands, and which working trees have it."""

import pytest

from fleet.git.land.fold import fold
from fleet.git.land.move_line import Held, Moved, move
from fleet.git.land.target import read_target
from tests.repos import Repo
from tests.unit.git.land.conftest import candidate, land_in, side


def roots(target):
    return [each.repo.root for each in target.checkouts]


def repo_at(place):
    """A repository that is there already."""
    repo = Repo.__new__(Repo)
    repo.root = place
    return repo


def test_the_line_is_the_tip_where_nothing_is_ahead(repo, land):
    """Also while an old ref of the line is behind: the branch has caught up by another way."""
    repo.git("update-ref", "refs/fleet/land/main", repo.first)
    tip = repo.commit("more", b="new\n")
    target = read_target(land, "main")
    assert (target.tip, target.line, target.beside) == (tip, tip, "")


def test_a_branch_that_was_moved_beside_its_line_is_told(repo, land):
    """What landed stays the line; the next train begins with merging the person's commit."""
    repo.put("b", "mine\n")
    work = side_of(repo, land)
    ahead = fold(land.git, repo.first, candidate(work)).commit
    assert isinstance(move(land, read_target(land, "main"), ahead, why="land"), Moved)
    (repo.root / "b").unlink()
    theirs = repo.commit("theirs", a="edited\n")
    target = read_target(land, "main")
    assert (target.tip, target.line, target.beside) == (theirs, ahead, theirs)
    assert isinstance(move(land, target, ahead, why="land"), Held)
    both = fold(land.git, target.line, candidate(theirs)).commit
    assert move(land, target, both, why="land") == Moved(commit=both)
    assert repo.git("rev-parse", "main") == both
    assert repo.git("status", "--porcelain") == ""


def side_of(repo, land):
    """Work beside main, made without the working tree."""
    blob = land.git.ask("hash-object", "-w", "--stdin", feed=b"new\n").decode().strip()
    old = repo.git("ls-tree", repo.first)
    tree = land.git.ask("mktree", feed=f"{old}\n100644 blob {blob}\tb\n".encode()).decode().strip()
    return land.git.line("commit-tree", "-p", repo.first, "-m", "work", tree)


def test_a_tree_in_the_middle_of_a_rebase_has_its_branch(repo, land):
    """Git goes back to it, and would undo what landed meanwhile."""
    repo.git("switch", "-qc", "other")
    repo.commit("other", a="other\n")
    repo.git("switch", "-q", "main")
    repo.commit("main", a="main\n")
    repo.git("rebase", "other", ok=False)
    assert repo.git("branch", "--show-current") == ""
    (found,) = read_target(land, "main").checkouts
    assert found.why == "a rebase is not finished"


def test_the_tree_of_core_worktree_counts(tmp_path):
    """The git directory is elsewhere, as a submodule's is."""
    place = tmp_path / "place"
    repo = Repo(tmp_path / "repo", f"--separate-git-dir={tmp_path / 'dot'}")
    repo.first = repo.commit("first", a="one\n")
    repo.git("config", "core.worktree", str(place))
    (tmp_path / "repo").rename(place)
    land = land_in(place, tmp_path)
    assert roots(read_target(land, "main")) == [str(place)]
    moved = repo_at(place)
    done = fold(land.git, repo.first, candidate(side(moved, b="new\n")))
    assert move(land, read_target(land, "main"), done.commit, why="land").behind == ""
    assert (place / "b").read_text() == "new\n"


def test_a_bare_repository_with_linked_trees_has_only_those(repo, tmp_path):
    """Its HEAD names a branch, and no tree has it."""
    repo.git("clone", "-q", "--bare", str(repo.root), str(tmp_path / "bare.git"))
    repo_at(tmp_path / "bare.git").git(
        "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "mine"
    )
    land = land_in(tmp_path / "tree", tmp_path)
    assert roots(read_target(land, "main")) == []
    assert roots(read_target(land, "mine")) == [str(tmp_path / "tree")]
    tree = repo_at(tmp_path / "tree")
    done = fold(land.git, repo.first, candidate(side(tree, b="new\n")))
    assert move(land, read_target(land, "main"), done.commit, why="land") == Moved(
        commit=done.commit
    )


def test_a_tree_whose_directory_is_gone_is_in_nobodys_way(repo, land, tmp_path):
    """Unless it is locked: then it is on a disk that is not there just now."""
    repo.git("switch", "-qc", "mine")
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"), "main")
    (tmp_path / "tree").rename(tmp_path / "gone")
    assert roots(read_target(land, "main")) == []
    repo.git("worktree", "lock", str(tmp_path / "tree"))
    (found,) = read_target(land, "main").checkouts
    assert found.why.endswith("are not there")


def test_another_name_of_a_branch_is_not_moved(repo, land):
    """The branch behind it would move without its working trees."""
    repo.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    done = fold(land.git, repo.first, candidate(side(repo, b="new\n")))
    found = move(land, read_target(land, "alias"), done.commit, why="land")
    assert found == Held(why="alias is another name of refs/heads/main: land on that")


@pytest.mark.parametrize("name", ["feature/x", "umläut", "a=b"])
def test_branches_of_any_name_move(repo, land, name):
    repo.git("branch", name)
    done = fold(land.git, repo.first, candidate(side(repo, b="new\n")))
    assert isinstance(move(land, read_target(land, name), done.commit, why="land"), Moved)
    assert repo.git("rev-parse", name) == done.commit
