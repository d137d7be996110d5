"""A working tree as a snapshot sees it."""

import time
from pathlib import Path

import pytest

from fleet.errors import InvalidTask
from fleet.git import repository, tree_snapshot
from fleet.git.own.own_repository import own_repository
from fleet.git.repository import Repository
from tests.builders import a_program
from tests.repos import Repo


def test_changes_are_counted_without_asking_a_repository_inside(repo, tmp_path):
    """`git status` would run the filters of that one."""
    inner = Repo(repo.root / "inner")
    inner.commit(x="1\n", _dot_gitattributes="x filter=evil\n")
    repo.git("add", "inner")
    head = repo.commit()
    script = a_program(tmp_path / "trap.sh", f"echo sprung >> {tmp_path}/sprung\ncat")
    inner.git("config", "filter.evil.clean", script)
    inner.write(x="2\n")
    repo.put("new", "")
    repo.put("a", "changed\n")
    found = repository.find(str(repo.root))
    own = own_repository(tmp_path / "home", found)
    with tree_snapshot.opened(own, found, time.monotonic() + 10) as (git, _):
        assert tree_snapshot.uncommitted(git, head) == {b"new", b"a"}
    assert not (tmp_path / "sprung").exists()
    repo.git("status")
    assert (tmp_path / "sprung").exists(), "the trap is not set"


def test_an_index_that_leads_elsewhere_is_not_copied(repo, tmp_path):
    """An agent may make a link of it, or of its shared part: a copy of /dev/zero has no end."""
    repo.commit("one", a="1\n")
    found = repository.find(str(repo.root))
    index, theirs = Path(found.git_dir, "index"), tmp_path / "secret"
    with tree_snapshot.copied_index(found) as copy:
        assert copy.read_bytes() == index.read_bytes()
        assert copy.stat().st_mtime_ns == index.stat().st_mtime_ns
    theirs.write_text("of the operator")
    index.unlink()
    with tree_snapshot.copied_index(found) as copy:
        assert not copy.exists()
    index.symlink_to(theirs)
    with pytest.raises(InvalidTask), tree_snapshot.copied_index(found):
        pass
    own = Repository(root="", git_dir=str(tmp_path / "own"), common_dir="")
    Path(own.git_dir).mkdir()
    Path(found.git_dir, "sharedindex.1").symlink_to(theirs)
    Path(found.git_dir, "sharedindex.2").write_text("shared")
    tree_snapshot.share_index(own, found)
    assert [path.name for path in Path(own.git_dir).iterdir()] == ["sharedindex.2"]
