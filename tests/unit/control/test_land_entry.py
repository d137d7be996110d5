"""A commit that lands on a person's branch: with their files, and without their configuration."""

import pytest

from fleet.control.compare.land_entry import land_commit
from fleet.errors import Refused
from tests.builders import a_program


@pytest.fixture
def repo(repo):
    repo.commit(a="one\ntwo\nthree\n", _dot_gitattributes="* merge=evil filter=evil\n")
    repo.git("switch", "-qc", "side")
    repo.side = repo.commit(a="one\ntwo\nTHREE\n", src__b="new\n")
    repo.git("switch", "-q", "main")
    return repo


@pytest.fixture
def traps(repo, tmp_path):
    """Drivers, filters and hooks in the project that leave a mark; returns the mark."""
    mark = tmp_path / "sprung"
    script = a_program(tmp_path / "trap.sh", f"echo sprung >> {mark}\ncat")
    for hook in ("post-merge", "pre-merge-commit", "reference-transaction", "post-checkout"):
        a_program(repo.root / ".git/hooks" / hook, f"exec {script}")
    with (repo.root / ".git/config").open("a") as file:
        file.write(f'[merge "evil"]\n\tdriver = {script} %A\n')
        file.write(f'[filter "evil"]\n\tsmudge = {script}\n\tclean = {script}\n')
    return mark


def landed(repo, commit, base=""):
    home = repo.root.parent / "home"
    words = {"ref": "REF", "message": "both", "again": "AGAIN"}
    return land_commit(home, str(repo.root), commit, base=base, **words)


@pytest.mark.parametrize("moved", [False, True])
def test_no_driver_filter_or_hook_of_the_project_runs_when_a_commit_lands(repo, traps, moved):
    """Neither where the branch only follows nor where both sides are merged."""
    if moved:
        repo.commit(a="ONE\ntwo\nthree\n")
    traps.unlink(missing_ok=True)
    with pytest.raises(Refused, match="git filters a there"):
        landed(repo, repo.side)
    repo.git("config", "--remove-section", "filter.evil")
    assert landed(repo, repo.side).how == ("merged" if moved else "fast-forwarded")
    assert not traps.exists()
    assert repo.root.joinpath("src/b").read_text() == "new\n"
    assert repo.root.joinpath("a").read_text() == f"{'ONE' if moved else 'one'}\ntwo\nTHREE\n"


def test_what_landed_is_as_git_itself_would_have_left_it(repo):
    """A clean tree and index, the branch with its log, and a project that holds every object."""
    repo.commit(c="mine\n")
    done = landed(repo, repo.side)
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("rev-parse", "HEAD", "main").split() == [done.commit, done.commit]
    assert repo.git("log", "-1", "--format=%s %P").split()[0] == "both"
    assert len(repo.git("log", "-1", "--format=%P").split()) == 2
    assert "fleet: land" in repo.git("reflog", "show", "main")
    assert "fleet: land" in repo.git("reflog", "show", "HEAD")
    assert repo.git("fsck", "--strict") == ""


def test_a_file_in_the_way_is_kept(repo):
    """New or ignored: a person's file is never written over."""
    repo.put("src/b", "mine\n")
    with pytest.raises(Refused, match="src/b is not in git"):
        landed(repo, repo.side)
    repo.put(".git/info/exclude", "b\n")
    with pytest.raises(Refused, match="src/b is not in git"):
        landed(repo, repo.side)
    assert (repo.root / "src/b").read_text() == "mine\n"
    assert repo.git("rev-parse", "main") != repo.side


def test_a_landing_is_refused_where_anything_is_in_the_way(repo):
    """Each time with the way out, and with nothing changed."""
    repo.git("switch", "-q", "--detach")
    with pytest.raises(Refused, match="no branch checked out") as refused:
        landed(repo, repo.side)
    assert "AGAIN" in refused.value.hint
    repo.git("switch", "-q", "main")
    repo.put("a", "staged\n")
    repo.git("add", "a")
    with pytest.raises(Refused, match="with changes to a"):
        landed(repo, repo.side)
    assert repo.git("diff", "--cached", "--name-only") == "a"
    repo.commit(a="mine\n")
    with pytest.raises(Refused, match="has commits since that conflict"):
        landed(repo, repo.side)
    repo.git("merge", "-q", repo.side, ok=False)
    with pytest.raises(Refused, match="is not finished"):
        landed(repo, repo.git("commit-tree", "-p", "main", "-m", "more", "side^{tree}"))
    assert repo.git("for-each-ref", "refs/fleet") == ""


def test_a_landing_minds_no_setting_of_merges(repo):
    """A squash or a merge that waits would leave the branch where it was."""
    repo.git("config", "branch.main.mergeOptions", "--squash")
    repo.git("config", "merge.ff", "false")
    assert landed(repo, repo.side).how == "fast-forwarded"
    assert repo.git("rev-parse", "main") == repo.side
    assert landed(repo, repo.side).how == "was there already"


def test_a_history_that_names_later_commits_takes_nothing_off_the_branch(repo):
    """The entry names the branch as its parent, and lacks what the branch has."""
    base = repo.git("merge-base", "main", "side")
    later = repo.commit("later", c="later\n")
    commit = repo.git("commit-tree", "-m", "mine", "-p", "side", "-p", later, "side^{tree}")
    assert landed(repo, commit, base).how == "merged"
    assert repo.git("show", "main:c") == "later"
    assert repo.git("show", "main:src/b") == "new"


def test_what_had_landed_ahead_of_the_branch_comes_with_it(repo):
    """The line holds accepted work already; a branch that was moved beside it is a person's."""
    repo.git("switch", "-qc", "ahead")
    ahead = repo.commit(c="landed\n")
    repo.git("switch", "-q", "main")
    repo.git("update-ref", "refs/fleet/land/main", ahead)
    assert landed(repo, repo.side).how == "merged"
    assert repo.root.joinpath("c").read_text() == "landed\n"
    assert repo.git("for-each-ref", "refs/fleet") == ""
    repo.git("update-ref", "refs/fleet/land/main", repo.git("rev-parse", "main"))
    repo.git("reset", "-q", "--hard", "main~1")
    repo.commit(d="mine\n")
    with pytest.raises(Refused, match="beside what had landed"):
        landed(repo, repo.side)
