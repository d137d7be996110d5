"""A checkout made out of a spare is the same as a fresh one, whatever commands did to the spare."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from fleet.git import git_command
from fleet.git.checkout import spare_checkout
from fleet.git.checkout.fresh_checkout import is_made, make_checkout
from fleet.git.land.land_repository import LandRepository
from fleet.git.repository import find
from fleet.home import Home, make_home
from fleet.schemas import Base
from tests.conftest import often
from tests.repos import Repo


class Place:
    """A repository with two trees, and a checkout of the first that is kept as a spare."""

    def __init__(self, root):
        home = Home(root / "home")
        make_home(home)
        self.root, self.repo = root, Repo(root / "project")
        self.repo.put(".gitignore", "*.o\n")
        self.repo.put("run.sh", "#!/bin/sh\n")
        (self.repo.root / "run.sh").chmod(0o755)
        (self.repo.root / "link").symlink_to("a/one")
        self.repo.put("caf\udce9", "no text\n")
        self.repo.put("a/only/here", "gone\n")
        self.repo.put("becomes-folder", "file\n")
        self.first = self.tree("a/one", "a/two", "b/deep/three", "same", module="modules/one")
        self.repo.git("commit", "-qm", "first")
        self.repo.git("rm", "-q", "-r", "a/only", "becomes-folder")
        self.repo.put("becomes-folder/file", "in it\n")
        self.second = self.tree("a/two", "new/four", module="two")
        land = LandRepository(home.path, find(self.repo.root), time.monotonic() + 60)
        self.git = land.git
        self.spare, self.bin = root / "spare", root / "removed"
        self.at = root / "verify/first/checkout"
        self.at.parent.mkdir(parents=True)
        make_checkout(self.git, self.first, self.at, self.now)
        # The files were not written this very moment: their next change would show.
        spare_checkout.note_files(self.at, self.first, until=time.time_ns() + 10**12)

    @property
    def now(self):
        return Base(root="", head=self.repo.git("rev-parse", "HEAD"), branch="refs/heads/main")

    def tree(self, *paths, module=""):
        for path in paths:
            self.repo.put(path, f"{path} {time.monotonic_ns()}\n")
        self.repo.git("add", "-A")
        for path in filter(None, (module, "kept")):
            self.repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{path}")
        return self.repo.git("write-tree")

    def keep(self):
        spare_checkout.keep(self.at, self.spare, self.bin)

    def take(self, tree=""):
        """The next checkout; None: not out of the spare."""
        root = self.root / "verify/second/checkout"
        root.parent.mkdir(exist_ok=True)
        wanted = tree or self.second
        found = spare_checkout.take(self.git, self.spare, wanted, root, self.now, self.bin)
        assert not self.spare.exists()
        assert is_made(root) is found
        return root if found else None

    def fresh(self, tree=""):
        root = self.root / "fresh"
        make_checkout(self.git, tree or self.second, root, self.now)
        return root


def content(root):
    """All that is below a checkout but for git's directory: its kind, mode and bytes."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] != ".git":
            data = path.readlink() if path.is_symlink() else path.is_file() and path.read_bytes()
            found[name] = path.lstat().st_mode, data
    return found


@pytest.fixture
def place(tmp_path):
    yield Place(tmp_path)
    for thread in threading.enumerate():
        if thread.name == "checkouts":
            thread.join(30)


def write_unseen(root):
    """The same size, and the times that a program can set as they were."""
    about = (root / "same").stat()
    (root / "same").write_text("x" * about.st_size)
    os.utime(root / "same", ns=(about.st_atime_ns, about.st_mtime_ns))


def write_by_link(root):
    os.link(root / "same", root / "other")
    (root / "other").write_text("through another name\n")
    (root / "other").unlink()


def replace_by_link(root):
    (root / "b").rename(root / "c")
    (root / "b").symlink_to("c")


def replace_by_folder(root):
    (root / "same").unlink()
    (root / "same").mkdir()
    (root / "same/inside").write_text("1\n")


def build(root):
    for path in ("a/one.o", "a/empty/x/y", "node/.git/config", "sub/.gitattributes"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("* text eol=crlf\n")
    (root / "a/empty/x/y").unlink()
    (root / ".gitattributes").write_text("* text eol=crlf\n")
    os.mkfifo(root / "pipe")


def use_git(root):
    (root / ".git/hooks").mkdir()
    (root / ".git/hooks/post-checkout").write_text("#!/bin/sh\ntouch hooked\n")
    (root / ".git/hooks/post-checkout").chmod(0o755)
    (root / ".git/index").write_text("broken")


def lock_up(root):
    (root / "locked/in").mkdir(parents=True)
    (root / "locked/in/file").write_text("1\n")
    (root / "locked/in").chmod(0o500)
    (root / "locked").chmod(0o500)


def shut(root):
    (root / "shut/in").mkdir(parents=True)
    (root / "shut").chmod(0)
    (root / ".git").chmod(0)


def remove_all(root):
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.mark.parametrize(
    "mess",
    [
        lambda root: None,
        write_unseen,
        write_by_link,
        replace_by_link,
        replace_by_folder,
        build,
        use_git,
        lock_up,
        shut,
        remove_all,
        lambda root: (root / "same").chmod(0o600),
        lambda root: (root / "run.sh").chmod(0o644),
        lambda root: (root / "link").unlink(),
    ],
)
def test_a_spare_becomes_exactly_the_tree(place, mess):
    """As a fresh checkout has it: nothing of what commands did is left."""
    mess(place.at)
    place.keep()
    made, fresh = place.take(), place.fresh()
    assert made is not None
    assert content(made) == content(fresh)
    status = ["--git-dir", str(made / ".git"), "--work-tree", str(made), "status", "--porcelain"]
    assert (
        place.repo.git(*status).splitlines()
        == place.repo.git(
            "--git-dir", str(fresh / ".git"), "--work-tree", str(fresh), "status", "--porcelain"
        ).splitlines()
    )
    assert not (made / ".git/hooks").exists()


def test_files_that_are_the_same_are_not_written_again(place):
    """That is what a spare is for; and it can be kept once more."""
    inode = (place.at / "same").stat().st_ino
    place.keep()
    made = place.take()
    assert (made / "same").stat().st_ino == inode
    place.at = made
    place.keep()
    made.parent.rename(place.root / "verify/third")
    assert content(place.take(place.first)) == content(place.fresh(place.first))


@pytest.mark.parametrize(
    "doubt",
    [
        lambda place: (place.spare / "checkout.files").write_text("{"),
        lambda place: (place.spare / "checkout.files").unlink(),
        lambda place: (place.spare / "checkout.index").write_text("DIRC"),
        lambda place: (place.spare / "checkout/a").chmod(0o750),
        lambda place: (place.spare / "checkout").chmod(0o700),
        lambda place: place.tell_other_boot(),
    ],
)
def test_a_spare_in_doubt_is_not_used(place, doubt, monkeypatch):
    """Nothing of it is left, and the tree is written from nothing."""
    place.tell_other_boot = lambda: monkeypatch.setattr(spare_checkout, "_boot", lambda: "another")
    place.keep()
    doubt(place)
    assert place.take() is None
    assert not (place.root / "verify/second/checkout").exists()


def test_a_spare_is_not_used_for_a_tree_with_other_attributes(place):
    """Files that are the same in both would have to be written in another way."""
    place.repo.put("a/.gitattributes", "* text eol=crlf\n")
    crlf = place.tree("new/five")
    place.keep()
    assert place.take(crlf) is None
    assert (place.fresh(crlf) / "a/one").read_bytes().endswith(b"\r\n")


def test_a_file_that_was_written_this_moment_is_written_again(place):
    """Its next change may get the same time from the kernel."""
    spare_checkout.note_files(place.at, place.first, until=0)
    inode = (place.at / "same").stat().st_ino
    place.keep()
    assert (place.take() / "same").stat().st_ino != inode


def test_a_process_that_is_killed_at_any_step_leaves_no_spare_that_is_wrong(tmp_path):
    """The next one makes the tree all the same, out of the spare or from nothing."""
    step = 0
    for step in range(1, 60, often(5, 1)):
        again = Place(tmp_path / str(step))
        build(again.at)
        if not killed_at(step, lambda place=again: (place.keep(), place.take())):
            break
        root = again.root / "verify/second/checkout"
        if not is_made(root):
            if (again.root / "verify/second").exists():
                (again.root / "verify/second").rename(again.root / "left")
            again.keep()
            root = again.take() or again.fresh()
        assert content(root) == content(again.fresh())
    else:
        pytest.fail("it is killed again and again")
    assert step > 10


def killed_at(step, work):
    """Do it in a child that is killed at one of its steps; whether it came so far."""
    child = os.fork()
    if child == 0:
        count = 0

        def stepping(owner, name):
            real = getattr(owner, name)

            def stepped(*args, **more):
                nonlocal count
                count += 1
                if count == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **more)

            setattr(owner, name, stepped)

        for owner, name in ((Path, "rename"), (Path, "unlink"), (git_command.Git, "_run")):
            stepping(owner, name)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
