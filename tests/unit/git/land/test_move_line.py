"""The line of a branch moves from one verified commit to the next, or not at all."""

from fleet.git.land.fold import fold
from fleet.git.land.move_line import Held, Moved, Raced, move
from fleet.git.land.target import read_target
from tests.unit.git.land.conftest import candidate, side


def folded(repo, land, line="", **files):
    """Work that is folded onto the line of main; returns the commit."""
    work = side(repo, at=repo.first, **(files or {"b": "new\n"}))
    return fold(land.git, line or read_target(land, "main").line, candidate(work)).commit


def test_a_branch_that_no_tree_has_checked_out_moves(repo, land):
    """With a log entry that says why, and with every object in the project."""
    repo.git("switch", "-qc", "mine")
    new = folded(repo, land)
    target = read_target(land, "main")
    assert move(land, target, new, why="fleet: land fleet-1") == Moved(commit=new)
    assert repo.git("rev-parse", "main") == new
    assert "fleet: land fleet-1" in repo.git("reflog", "main")
    assert repo.git("fsck", "--connectivity-only", "--no-dangling") == ""


def test_the_line_goes_ahead_of_a_branch_with_a_tree_in_the_way(repo, land):
    """And the next work is folded onto the line."""
    repo.write(a="edited\n")
    repo.git("add", "a")
    (repo.root / ".git/MERGE_HEAD").write_text(f"{repo.first}\n")
    new = folded_beside(repo, land)
    done = move(land, read_target(land, "main"), new, why="land")
    assert isinstance(done, Moved)
    assert "a merge is not finished" in done.behind
    assert repo.git("rev-parse", "main", "refs/fleet/land/main").split() == [repo.first, new]
    target = read_target(land, "main")
    assert (target.tip, target.line, target.beside) == (repo.first, new, "")


def folded_beside(repo, land, name="b"):
    """The same without a look at the working tree."""
    blob = repo.git("hash-object", "-w", "a")
    tree = land.git.ask("mktree", feed=f"100644 blob {blob}\t{name}\n".encode()).decode().strip()
    work = land.git.line("commit-tree", "-p", repo.first, "-m", "work", tree)
    return fold(land.git, read_target(land, "main").line, candidate(work)).commit


def test_a_branch_that_was_moved_meanwhile_is_left(repo, land):
    """The train folds again, onto what is there now."""
    repo.git("switch", "-qc", "mine")
    new = folded(repo, land)
    target = read_target(land, "main")
    theirs = side(repo, c="theirs\n")
    repo.git("update-ref", "refs/heads/main", theirs)
    done = move(land, target, new, why="land")
    assert isinstance(done, Raced)
    assert repo.git("rev-parse", "main") == theirs


def test_a_branch_that_is_gone_is_not_made(repo, land):
    """A person has to say where the work goes."""
    repo.git("switch", "-qc", "mine")
    new = folded(repo, land)
    repo.git("branch", "-D", "main")
    found = move(land, read_target(land, "main"), new, why="land")
    assert isinstance(found, Held)
    assert "no branch main" in found.why


def test_no_hook_runs_when_a_branch_moves(repo, land, traps):
    """A hook of the project that refuses or hangs has no say."""
    repo.git("switch", "-qc", "mine", ok=False)
    new = folded_beside(repo, land)
    traps.unlink(missing_ok=True)
    assert isinstance(move(land, read_target(land, "main"), new, why="land"), Moved)
    assert not traps.exists()
