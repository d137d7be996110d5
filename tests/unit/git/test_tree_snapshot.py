"""A working tree as a snapshot sees it."""

import time

from fleet.git import repository, tree_snapshot
from fleet.git.own.own_repository import own_repository
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
