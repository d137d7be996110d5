"""A person's working tree follows its branch, or is left byte for byte."""

import fcntl
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet.git.land.fold import fold
from fleet.git.land.follow.follow_checkout import finish_follows
from fleet.git.land.follow.follow_journal import FOLDER
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.move_line import Moved, Raced, move
from fleet.git.land.target import read_target
from tests.conftest import often
from tests.unit.git.land.conftest import candidate, land_in, side


def landed(repo, land, work):
    """Fold a commit onto the line of main, and move the line."""
    target = read_target(land, "main")
    return move(land, target, fold(land.git, target.line, candidate(work)).commit, why="land")


def everything(root):
    """Every file of a working tree without its git directory: content, kind, times."""
    found = {}
    for path in sorted(root.rglob("*")):
        if ".git" not in path.relative_to(root).parts[:1]:
            about = path.lstat()
            linked = path.readlink() if path.is_symlink() else None
            content = path.read_bytes() if linked is None and path.is_file() else linked
            found[path] = (about.st_mode, content, about.st_mtime_ns if path.is_file() else 0)
    return found


@pytest.fixture
def work(repo):
    """A commit with every kind of change."""
    repo.put("gone/deep/file", "goes\n")
    repo.put("runs.sh", "echo\n")
    repo.put("Case.txt", "case\n")
    repo.put("dir/inner", "a directory that becomes a link\n")
    repo.put("flat", "a file that becomes a directory\n")
    (repo.root / "link").symlink_to("a")
    repo.put("mine", "stays\n")
    repo.commit("all kinds")
    repo.git("switch", "-q", "--detach")
    repo.git("rm", "-qr", "gone", "dir", "flat", "link")
    repo.git("mv", "Case.txt", "case.txt")
    (repo.root / "runs.sh").chmod(0o755)
    (repo.root / "dir").symlink_to("mine")
    repo.put("flat/file", "below\n")
    repo.put("link", "a file now\n")
    (repo.root / os.fsdecode(b"od\xffd\nname")).write_text("odd\n")
    done = repo.commit("work", a="ONE\n", new__deep__file="new\n")
    repo.git("switch", "-q", "main")
    return done


def assert_followed(repo, done):
    assert done == Moved(commit=repo.git("rev-parse", "main"))
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("ls-files", "--others") == ""
    assert not (repo.root / ".git/index.lock").exists()
    assert not (repo.root / ".git" / FOLDER).exists()


def test_a_clean_tree_follows(repo, land, work):
    """Files, links, modes, directories that become files: as git would have left them."""
    done = landed(repo, land, work)
    assert_followed(repo, done)
    assert not (repo.root / "gone").exists()
    assert (repo.root / "dir").readlink() == Path("mine")
    assert os.access(repo.root / "runs.sh", os.X_OK)
    assert repo.git("diff", "--stat", "HEAD^2") == ""
    assert repo.git("rev-parse", "ORIG_HEAD", ok=False) == "ORIG_HEAD"


def test_new_and_ignored_files_stay(repo, land, work):
    """They are not git's: the tree counts as clean, and they are as they were."""
    repo.put("note", "mine\n")
    repo.put(".git/info/exclude", "*.log\n")
    repo.put("x.log", "log\n")
    done = landed(repo, land, work)
    assert (done.behind, repo.git("status", "--porcelain")) == ("", "?? note")
    assert (repo.root / "x.log").read_text() == "log\n"


def dirty(repo):
    repo.put("mine", "edited\n")


def staged(repo):
    repo.put("mine", "edited\n")
    repo.git("add", "mine")


def removed(repo):
    (repo.root / "mine").unlink()


def in_the_way(repo):
    repo.put("new/deep/file", "mine\n")


def ignored_in_the_way(repo):
    repo.put(".git/info/exclude", "new\n")
    repo.put("new", "mine\n")


def behind_a_link(repo):
    (repo.root / "new").symlink_to("/tmp")


def beside_what_goes(repo):
    repo.put("dir/mine", "a file in a directory that becomes a link\n")


def locked(repo):
    repo.put(".git/index.lock", "")


def merging(repo):
    repo.put(".git/MERGE_HEAD", f"{repo.first}\n")


def bisecting(repo):
    repo.git("bisect", "start")
    repo.git("bisect", "bad", "HEAD")
    repo.git("bisect", "good", repo.first)


def sparse(repo):
    repo.git("sparse-checkout", "set", "gone")


def assumed(repo):
    repo.git("update-index", "--assume-unchanged", "mine")
    repo.put("mine", "edited, and git does not look\n")


def filtered(repo):
    repo.put(".git/info/attributes", "case.txt filter=evil\n")


WAYS = {
    dirty: "changes that are not committed: mine",
    staged: "changes that are not committed: mine",
    removed: "changes that are not committed: mine",
    in_the_way: "new/deep/file is not git's, and what landed has it",
    ignored_in_the_way: "new is not git's, and what landed has it",
    behind_a_link: "new is not git's, and what landed has it",
    beside_what_goes: "dir/mine is not git's, and what landed has it",
    locked: "another git process is at work (index.lock)",
    merging: "a merge is not finished",
    bisecting: "a bisection is not finished",
    sparse: "its checkout is sparse",
    assumed: "mine is marked as unchanged for git",
    filtered: "case.txt has a filter, which fleet does not run",
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_tree_with_something_in_the_way_is_left_byte_for_byte(repo, land, work, way):
    """The line goes ahead, and the person is told why the branch does not."""
    main = repo.git("rev-parse", "main")
    way(repo)
    git = repo.root / ".git"
    before = everything(repo.root), [(git / name).read_bytes() for name in ("index", "HEAD")]
    done = landed(repo, land, work)
    assert done.behind == f"{repo.root}: {WAYS[way]}"
    after = everything(repo.root), [(git / name).read_bytes() for name in ("index", "HEAD")]
    assert after == before
    refs = repo.git("rev-parse", "refs/heads/main", "refs/fleet/land/main").split()
    assert refs == [main, done.commit]
    assert not (git / FOLDER).exists()


def test_the_branch_follows_when_nothing_is_in_the_way_any_more(repo, land, work):
    """The same move again; the ref of the line is gone then."""
    repo.put("mine", "edited\n")
    done = landed(repo, land, work)
    repo.git("restore", "mine")
    target = read_target(land, "main")
    assert move(land, target, target.line, why="follow") == Moved(commit=done.commit)
    assert repo.git("for-each-ref", "refs/fleet/land") == ""
    assert_followed(repo, Moved(commit=done.commit))


def test_three_trees_on_one_branch_follow_together(repo, land, work, tmp_path):
    """And if one of them cannot, none does."""
    for name in ("two", "three"):
        repo.git("worktree", "add", "-q", "--force", str(tmp_path / name), "main")
    target = read_target(land, "main")
    assert [each.repo.root for each in target.checkouts] == [
        str(repo.root), str(tmp_path / "three"), str(tmp_path / "two")
    ]  # fmt: skip
    (tmp_path / "three/mine").write_text("edited\n")
    done = landed(repo, land, work)
    assert str(tmp_path / "three") in done.behind
    assert repo.git("status", "--porcelain") == ""
    repo.git("-C", str(tmp_path / "three"), "restore", "mine")
    target = read_target(land, "main")
    assert move(land, target, target.line, why="follow").behind == ""
    for root in (repo.root, tmp_path / "two", tmp_path / "three"):
        assert repo.git("-C", str(root), "status", "--porcelain") == ""
        assert (root / "new/deep/file").exists()


def test_lines_end_as_the_person_wants_them(repo, land, tmp_path):
    """With `core.autocrlf` files are written as the person's own git would, and are clean."""
    repo.git("config", "core.autocrlf", "true")
    work = side(repo, a="one\nTWO\n")
    repo.git("checkout", "-q", "main")
    assert landed(repo, land, work).behind == ""
    assert (repo.root / "a").read_bytes() == b"one\r\nTWO\r\n"
    assert repo.git("status", "--porcelain") == ""


def test_no_program_of_the_project_runs_while_a_tree_follows(repo, land, work, traps):
    """Hooks, the monitor, filters of the configuration: the mark is never left."""
    traps.unlink(missing_ok=True)
    assert landed(repo, land, work).behind == ""
    assert not traps.exists()


def test_a_submodule_moves_in_the_index_alone(repo, land, tmp_path):
    """As with git itself: its files are another repository's."""
    repo.git("switch", "-q", "--detach")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.first},sub")
    repo.git("commit", "-qm", "submodule")
    work = repo.git("rev-parse", "HEAD")
    repo.git("switch", "-q", "main")
    assert landed(repo, land, work).behind == ""
    assert (repo.root / "sub").is_dir()
    assert repo.git("status", "--porcelain") == ""


def test_a_file_touched_while_the_tree_follows_is_left_and_told(repo, land, work, monkeypatch):
    """The person's edit is in the file, and git shows it as a change."""
    write = LandRepository.move_refs

    def edited_meanwhile(*args):
        write(*args)
        (repo.root / "a").write_text("edited in that moment\n")

    monkeypatch.setattr(LandRepository, "move_refs", edited_meanwhile)
    done = landed(repo, land, work)
    assert done.sentences == (f"{repo.root}: a was changed meanwhile and is left as it is",)
    assert (repo.root / "a").read_text() == "edited in that moment\n"
    assert repo.git("status", "--porcelain") == " M a"


def test_a_branch_that_moves_in_that_moment_leaves_the_tree_as_it_was(
    repo, land, work, monkeypatch
):
    """The tree was ready to follow; nothing of that stays."""
    before = everything(repo.root)
    write = LandRepository.move_refs

    def raced(*args):
        repo.git("update-ref", "refs/heads/main", repo.first)
        write(*args)

    monkeypatch.setattr(LandRepository, "move_refs", raced)
    assert isinstance(landed(repo, land, work), Raced)
    assert everything(repo.root) == before
    assert not (repo.root / ".git/index.lock").exists()
    assert not (repo.root / ".git" / FOLDER).exists()


#: What a process does to the disk, or starts.
EVENTS = ("os.rename", "os.remove", "os.link", "os.rmdir", "os.mkdir", "subprocess.Popen")


def killed_at(number, act):
    """Run `act` in a child process that is killed at its nth event; False: it came to its end."""
    pid = os.fork()
    if pid == 0:
        left = [number]

        def count(event, args):
            if event in EVENTS:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        act()
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def test_a_kill_at_any_step_leaves_something_that_the_next_process_completes(repo, work, tmp_path):
    """Branch, index and files are all old or all new afterwards, and no lock stays."""
    main, number, killed = repo.git("rev-parse", "main"), 1, True
    while killed:
        land = land_in(repo.root, tmp_path)
        new = fold(land.git, main, candidate(work)).commit
        killed = killed_at(
            number,
            lambda land=land, new=new: move(land, read_target(land, "main"), new, why="land"),
        )
        land = land_in(repo.root, tmp_path)
        assert finish_follows(land) == ()
        at = repo.git("rev-parse", "main")
        assert at in (main, new)
        assert repo.git("status", "--porcelain") == "", f"killed at {number}"
        done = move(land, read_target(land, "main"), new, why="again")
        assert_followed(repo, done)
        repo.git("reset", "-q", "--hard", main)
        number += often(10, 1)
    assert number > 20


def test_a_lock_that_a_person_took_away_does_not_stop_it(repo, land, work, tmp_path):
    """Git itself advises to remove it."""
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    for number in range(1, 200):
        assert killed_at(number, lambda: move(land, read_target(land, "main"), new, why="land"))
        if repo.git("rev-parse", "main") == new:
            break
        finish_follows(land_in(repo.root, tmp_path))
    (repo.root / ".git/index.lock").unlink()
    assert finish_follows(land_in(repo.root, tmp_path)) == ()
    assert_followed(repo, Moved(commit=new))


def test_a_git_that_outlived_its_lander_is_waited_for(repo, land, work, tmp_path):
    """Its branch moves late: the tree follows all the same."""
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    number = 1
    while not (repo.root / ".git" / FOLDER / "follow.json").exists():
        finish_follows(land)
        assert killed_at(number, lambda: move(land, read_target(land, "main"), new, why="land"))
        number += 1
    moves = repo.root / ".git/fleet-land.moves"
    with moves.open("wb") as orphan:
        fcntl.flock(orphan, fcntl.LOCK_EX)
        with ThreadPoolExecutor() as pool:
            finishing = pool.submit(finish_follows, land)
            repo.git("update-ref", "refs/heads/main", new)
            fcntl.flock(orphan, fcntl.LOCK_UN)
            assert finishing.result() == ()
    assert_followed(repo, Moved(commit=new))


def test_a_full_disk_moves_nothing(repo, land, work):
    """No file can be written: the branch stays, and the tree is as it was."""
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    before, main = everything(repo.root), repo.git("rev-parse", "main")
    assert Path(land.own.git_dir).is_dir()
    pid = os.fork()
    if pid == 0:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        done = move(land, read_target(land, "main"), new, why="land")
        os._exit(7 if isinstance(done, Moved) and not done.behind else 0)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert (everything(repo.root), repo.git("rev-parse", "main")) == (before, main)
    finish_follows(land)
    assert_followed(repo, move(land, read_target(land, "main"), new, why="land"))
