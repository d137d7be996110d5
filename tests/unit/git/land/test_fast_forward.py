"""A person's working tree moves with its branch and keeps local changes, or is left as it is."""

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet.git.land.fast_forward import finish_moves
from fleet.git.land.fold import fold
from fleet.git.land.held_index import FOLDER
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.move_line import Held, Moved, Raced, move
from fleet.git.land.target import read_target
from fleet.git.own.copied_objects import give_objects
from tests.builders import a_program
from tests.conftest import often
from tests.repos import ENV
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


def assert_moved(repo, done):
    assert done == Moved(commit=repo.git("rev-parse", "main"))
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("ls-files", "--others") == ""
    assert_let_go(repo)


def assert_let_go(repo):
    assert not (repo.root / ".git/index.lock").exists()
    assert not (repo.root / ".git" / FOLDER).exists()


def test_a_clean_tree_moves(repo, land, work):
    """Files, links, modes, directories that become files: as git would have left them."""
    assert_moved(repo, landed(repo, land, work))
    assert not (repo.root / "gone").exists()
    assert (repo.root / "dir").readlink() == Path("mine")
    assert os.access(repo.root / "runs.sh", os.X_OK)
    assert repo.git("diff", "--stat", "HEAD^2") == ""


def test_local_changes_that_do_not_overlap_are_kept(repo, land, work):
    """Edited, staged, removed, new and ignored files: as with a fast-forward by hand."""
    repo.put("kept", "1\n")
    repo.put("goes", "1\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "more")
    repo.put("mine", "edited\n")
    repo.put("kept", "staged\n")
    repo.git("add", "kept")
    (repo.root / "goes").unlink()
    repo.put("note", "new\n")
    repo.put(".git/info/exclude", "*.log\n")
    repo.put("x.log", "log\n")
    assert landed(repo, land, work).behind == ""
    listed = repo.git("status", "--porcelain").splitlines()
    assert sorted(listed) == [" D goes", " M mine", "?? note", "M  kept"]
    assert (repo.root / "mine").read_text() == "edited\n"
    assert (repo.root / "x.log").read_text() == "log\n"
    assert (repo.root / "a").read_text() == "ONE\n"
    assert_let_go(repo)


def test_a_file_that_only_has_another_time_is_no_change(repo, land, work):
    os.utime(repo.root / "a", (1, 1))
    assert_moved(repo, landed(repo, land, work))


def edited(repo):
    repo.put("a", "edited\n")


def staged(repo):
    repo.put("a", "edited\n")
    repo.git("add", "a")


def assumed(repo):
    repo.git("update-index", "--assume-unchanged", "a")
    repo.put("a", "edited, and git does not look\n")


def conflicting(repo):
    blob = repo.git("hash-object", "-w", "a")
    rows = "".join(f"100644 {blob} {stage}\ta\n" for stage in (1, 2, 3))
    argv = ["git", "update-index", "--index-info"]
    subprocess.run(argv, cwd=repo.root, env=ENV, input=rows, text=True, check=True)


def in_the_way(repo):
    repo.put("new/deep/file", "mine\n")


def ignored_in_the_way(repo):
    repo.put(".git/info/exclude", "new\n")
    repo.put("new", "mine\n")


def behind_a_link(repo):
    (repo.root / "new").symlink_to("/tmp")


def beside_what_goes(repo):
    repo.put(".git/info/exclude", "dir/mine\n")
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


def filtered(repo):
    repo.git("config", "filter.mine.smudge", "cat")
    repo.put(".git/info/attributes", "case.txt filter=mine\n")


BY_HAND = "git -C {root} merge --ff-only refs/fleet/land/main"
COMMIT = "commit or stash them; fleet lands by itself then"
AWAY = "move or commit that; fleet lands by itself then"
SEE = "see to that; fleet lands by itself then"
WAYS = {
    edited: f" with changes to a: {COMMIT}",
    staged: f" with changes to a: {COMMIT}",
    assumed: (
        ", and git refuses to move it (git read-tree: error: Entry 'a' not uptodate."
        " Cannot merge.): mend that; fleet lands by itself then"
    ),
    conflicting: f" with changes to a: {COMMIT}",
    in_the_way: f", where new/deep/file is not in git and would be overwritten: {AWAY}",
    ignored_in_the_way: f", where new is not in git and would be overwritten: {AWAY}",
    behind_a_link: f", where new is not in git and would be overwritten: {AWAY}",
    beside_what_goes: f", where dir/mine is not in git and would be overwritten: {AWAY}",
    locked: (", where another git process is at work (index.lock): fleet lands once it has ended"),
    merging: f", where a merge is not finished: {SEE}",
    bisecting: f", where a bisection is not finished: {SEE}",
    sparse: f", as a sparse checkout: {BY_HAND}",
    filtered: f", and git filters case.txt there: {BY_HAND}",
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_tree_with_something_in_the_way_is_left_byte_for_byte(repo, land, work, way):
    """The line goes ahead, and the person is told the checkout, the file and what to do."""
    main = repo.git("rev-parse", "main")
    way(repo)
    git = repo.root / ".git"
    before = everything(repo.root), [(git / name).read_bytes() for name in ("index", "HEAD")]
    done = landed(repo, land, work)
    root = repo.root
    assert done.behind == f"main is checked out at {root}{WAYS[way]}".replace("{root}", str(root))
    after = everything(repo.root), [(git / name).read_bytes() for name in ("index", "HEAD")]
    assert after == before
    refs = repo.git("rev-parse", "refs/heads/main", "refs/fleet/land/main").split()
    assert refs == [main, done.commit]
    assert not (git / FOLDER).exists()


def test_a_person_who_asks_for_the_branch_has_no_line_ahead(repo, land, work):
    edited(repo)
    target = read_target(land, "main")
    new = fold(land.git, target.line, candidate(work)).commit
    found = move(land, target, new, why="land", asked=True)
    assert found == Held(why=f"main is checked out at {repo.root} with changes to a")
    assert repo.git("for-each-ref", "refs/fleet/land") == ""


def test_the_command_that_a_person_is_given_lands_what_fleet_left(repo, land, work):
    """A checkout with a filter ends as the person's own git makes it."""
    filtered(repo)
    repo.git("config", "filter.mine.smudge", "tr a-z A-Z")
    repo.git("config", "filter.mine.clean", "tr A-Z a-z")
    landed(repo, land, work)
    repo.git("merge", "-q", "--ff-only", "refs/fleet/land/main")
    assert (repo.root / "case.txt").read_text() == "CASE\n"
    target = read_target(land, "main")
    assert (target.tip, target.line) == (repo.git("rev-parse", "main"),) * 2


def test_a_filter_that_the_person_does_not_have_is_none(repo, land):
    """Landed attributes may name any: git writes such files as they are stored."""
    work = side(repo, _dot_gitattributes="* filter=lfs\n", b="new\n")
    assert_moved(repo, landed(repo, land, work))


def test_landed_attributes_cannot_start_a_filter_of_the_person(repo, land, tmp_path):
    """An agent wrote the attributes; the person's own git has the program."""
    mark = tmp_path / "ran"
    program = a_program(tmp_path / "filter.sh", f"echo ran >> {mark}\ncat")
    repo.git("config", "filter.mine.smudge", str(program))
    work = side(repo, _dot_gitattributes="b filter=mine\n", b="new\n")
    mark.unlink(missing_ok=True)
    assert "and git filters b there" in landed(repo, land, work).behind
    assert not mark.exists()
    assert not (repo.root / "b").exists()


def test_files_that_a_filter_has_nothing_to_do_with_land(repo, land, tmp_path):
    """A project that keeps large files with a filter lands all else by itself."""
    repo.commit(_dot_gitattributes="*.bin filter=lfs\n", x_dot_bin="pointer\n")
    work = side(repo, b="new\n")
    for verb, program in (("smudge", "false"), ("clean", "false"), ("required", "true")):
        repo.git("config", f"filter.lfs.{verb}", program)
    assert landed(repo, land, work).behind == ""
    assert (repo.root / "b").read_text() == "new\n"


def test_the_branch_moves_when_nothing_is_in_the_way_any_more(repo, land, work):
    """The same move again; the ref of the line is gone then."""
    edited(repo)
    done = landed(repo, land, work)
    repo.git("restore", "a")
    target = read_target(land, "main")
    assert move(land, target, target.line, why="follow") == Moved(commit=done.commit)
    assert repo.git("for-each-ref", "refs/fleet/land") == ""
    assert_moved(repo, Moved(commit=done.commit))


def test_three_trees_on_one_branch_move_together(repo, land, work, tmp_path):
    """And if one of them cannot, none does."""
    for name in ("two", "three"):
        repo.git("worktree", "add", "-q", "--force", str(tmp_path / name), "main")
    target = read_target(land, "main")
    assert [each.repo.root for each in target.checkouts] == [
        str(repo.root), str(tmp_path / "three"), str(tmp_path / "two")
    ]  # fmt: skip
    (tmp_path / "three/a").write_text("edited\n")
    before = everything(repo.root)
    done = landed(repo, land, work)
    assert str(tmp_path / "three") in done.behind
    assert repo.git("status", "--porcelain") == ""
    assert {path: found[:2] for path, found in everything(repo.root).items()} == {
        path: found[:2] for path, found in before.items()
    }
    repo.git("-C", str(tmp_path / "three"), "restore", "a")
    target = read_target(land, "main")
    assert move(land, target, target.line, why="follow").behind == ""
    for root in (repo.root, tmp_path / "two", tmp_path / "three"):
        assert repo.git("-C", str(root), "status", "--porcelain") == ""
        assert (root / "new/deep/file").exists()


def test_a_branch_that_is_checked_out_nowhere_moves_as_a_ref(repo, land, work):
    repo.git("switch", "-q", "-c", "other")
    before = everything(repo.root)
    assert landed(repo, land, work).behind == ""
    assert repo.git("merge-base", "--is-ancestor", work, "main") == ""
    assert everything(repo.root) == before


def test_a_linked_tree_moves_with_its_own_index(repo, land, work, tmp_path):
    repo.git("switch", "-q", "-c", "other")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "main")
    assert landed(repo, land, work).behind == ""
    assert repo.git("-C", str(tmp_path / "linked"), "status", "--porcelain") == ""
    assert (tmp_path / "linked/new/deep/file").exists()


def test_a_split_index_moves(repo, land, work):
    repo.git("update-index", "--split-index")
    assert_moved(repo, landed(repo, land, work))


def test_lines_end_as_the_person_wants_them(repo, land, tmp_path):
    """With `core.autocrlf` files are written as the person's own git would, and are clean."""
    repo.git("config", "core.autocrlf", "true")
    work = side(repo, a="one\nTWO\n")
    repo.git("checkout", "-q", "main")
    assert landed(repo, land, work).behind == ""
    assert (repo.root / "a").read_bytes() == b"one\r\nTWO\r\n"
    assert repo.git("status", "--porcelain") == ""


def test_no_program_of_the_project_runs_while_a_tree_moves(repo, land, work, traps):
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


def test_a_branch_that_moves_in_that_moment_leaves_the_tree_as_it_was(
    repo, land, work, monkeypatch
):
    """The files had moved already, and are brought back."""
    before = everything(repo.root)
    write = LandRepository.move_refs

    def raced(*args):
        assert (repo.root / "new/deep/file").exists()
        repo.git("update-ref", "refs/heads/main", repo.first)
        write(*args)

    monkeypatch.setattr(LandRepository, "move_refs", raced)
    main = repo.git("rev-parse", "main")
    assert isinstance(landed(repo, land, work), Raced)
    repo.git("update-ref", "refs/heads/main", main)
    assert repo.git("status", "--porcelain") == ""
    assert everything(repo.root).keys() == before.keys()
    assert_let_go(repo)


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
        finish_moves(land)
        assert_let_go(repo)
        at = repo.git("rev-parse", "main")
        assert at in (main, new)
        assert repo.git("status", "--porcelain") == "", f"killed at {number}"
        done = move(land, read_target(land, "main"), new, why="again")
        assert_moved(repo, done)
        repo.git("reset", "-q", "--hard", main)
        number += often(5, 1)
    assert number > 10


def dies_after_git(repo, land, new, harm):
    """Move in a process whose git dies before it writes its index, with half-written files."""
    pid = os.fork()
    if pid == 0:
        real = LandRepository.ask_alone

        def cut_off(self, git, *args):
            index = Path(git._env["GIT_INDEX_FILE"])
            data = index.read_bytes()
            real(self, git, *args)
            index.write_bytes(data)
            Path(f"{index}.lock").write_bytes(b"half")
            harm(repo.root)
            os.kill(os.getpid(), signal.SIGKILL)

        LandRepository.ask_alone = cut_off
        move(land, read_target(land, "main"), new, why="land")
    os.waitpid(pid, 0)


def half(root):
    """Git removes a file before it writes the new one, and writes that in pieces."""
    (root / "a").write_text("ON")
    (root / "case.txt").unlink()


def test_a_git_that_is_killed_in_the_middle_leaves_nothing_half_written(repo, land, work):
    """As when the power fails: lock and half of the files stay, until the next lander is there."""
    before = everything(repo.root)
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    dies_after_git(repo, land, new, half)
    assert (repo.root / ".git/index.lock").exists()
    finish_moves(land)
    assert repo.git("status", "--porcelain") == ""
    assert everything(repo.root).keys() == before.keys()
    assert_let_go(repo)
    assert_moved(repo, move(land, read_target(land, "main"), new, why="again"))


def test_what_a_person_wrote_since_is_left(repo, land, work):
    """A file that is neither as it was nor as git writes it."""

    def wrote(root):
        half(root)
        (root / "link").write_text("a person's\n")

    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    dies_after_git(repo, land, new, wrote)
    finish_moves(land)
    assert (repo.root / "link").read_text() == "a person's\n"
    assert repo.git("status", "--porcelain") == " T link"


def test_a_lock_that_a_person_took_away_does_not_stop_it(repo, land, work):
    """Git itself advises to remove it."""
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    dies_after_git(repo, land, new, half)
    (repo.root / ".git/index.lock").unlink()
    finish_moves(land)
    assert repo.git("status", "--porcelain") == ""
    assert_moved(repo, move(land, read_target(land, "main"), new, why="again"))


def test_a_git_of_the_persons_is_not_disturbed(repo, land, work):
    """Its lock stands in the place of ours: the move is finished once it has ended."""
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    dies_after_git(repo, land, new, half)
    lock = repo.root / ".git/index.lock"
    lock.unlink()
    lock.write_text("a person's git")
    finish_moves(land)
    assert lock.read_text() == "a person's git"
    done = move(land, read_target(land, "main"), new, why="again")
    assert "another git process is at work" in done.behind
    lock.unlink()
    finish_moves(land)
    assert_let_go(repo)
    assert repo.git("status", "--porcelain") == ""


def test_a_git_that_outlived_its_lander_is_waited_for(repo, land, work):
    """Its branch moves late: nothing is taken back before."""
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    dies_after_git(repo, land, new, lambda root: None)
    moves = repo.root / ".git/fleet-land.moves"
    with moves.open("wb") as orphan:
        fcntl.flock(orphan, fcntl.LOCK_EX)
        with ThreadPoolExecutor() as pool:
            finishing = pool.submit(finish_moves, land)
            repo.git("update-ref", "refs/heads/main", new)
            fcntl.flock(orphan, fcntl.LOCK_UN)
            finishing.result()
    assert_moved(repo, Moved(commit=new))


def test_a_journal_of_an_earlier_version_is_finished(repo, land, work):
    """It moved the branch first, then one file after the other, and the index last."""
    old = repo.git("rev-parse", "main")
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    give_objects(land.git, land.common, new, old)
    folder = repo.root / ".git" / FOLDER
    (folder / "files").mkdir(parents=True)
    (folder / "lock").write_text("fleet 0123\n")
    (repo.root / ".git/index.lock").write_text("fleet 0123\n")
    (folder / "index").write_bytes(b"the index to be")
    steps = [{"path": "YQ==", "old": [33188, 4, 1, 1, 1], "new": True, "submodule": False}]
    note = {"ref": "refs/heads/main", "old": old, "new": new, "steps": steps, "index": [1, 2]}
    (folder / "follow.json").write_text(json.dumps(note))
    repo.git("update-ref", "refs/heads/main", new)
    (repo.root / "a").write_text("ONE\n")
    (repo.root / "gone/deep/file").unlink()
    finish_moves(land)
    assert_moved(repo, Moved(commit=new))


def test_a_full_disk_moves_nothing(repo, land, work):
    """No file can be written: the branch stays, and the tree is as it was."""
    repo.commit(large=os.urandom(400).hex())
    repo.git("switch", "-q", "--detach")
    work = repo.commit("larger", large=os.urandom(4000).hex(), aaa="first\n")
    repo.git("switch", "-q", "main")
    new = fold(land.git, read_target(land, "main").line, candidate(work)).commit
    main = repo.git("rev-parse", "main")
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
        done = move(land, read_target(land, "main"), new, why="land")
        os._exit(7 if isinstance(done, Moved) and not done.behind else 0)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    finish_moves(land)
    assert repo.git("rev-parse", "main") == main
    assert repo.git("status", "--porcelain") == ""
    assert_let_go(repo)
    assert_moved(repo, move(land, read_target(land, "main"), new, why="land"))
