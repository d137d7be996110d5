"""What git is asked by fleet, no repository can turn into a command of its own."""

import errno
import os
import time

import psutil
import pytest

from fleet.files.machine_short import is_short
from fleet.git import git_command, repository, run_baseline
from fleet.git.git_command import Git, GitFailed, undone
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.repository import guarded_config
from tests.builders import a_program
from tests.repos import Repo, RunIn


@pytest.fixture
def repo(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    repo.commit(a_dot_txt="one\n")
    return repo


def git_of(repo, seconds=10.0):
    return Git(repository.find(str(repo.root)), time.monotonic() + seconds)


def trap(tmp_path):
    """A command that leaves a mark."""
    return a_program(tmp_path / "trap.sh", f"echo sprung >> {tmp_path}/sprung\ncat")


def test_nothing_that_a_repository_brings_is_run(repo, tmp_path):
    """Hooks, monitor, filters, diff drivers, signing, an included file: the mark is never left."""
    script = trap(tmp_path)
    for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        a_program(repo.root / ".git/hooks" / hook, f"exec {script}")
    repo.put(".gitattributes", "*.txt filter=evil diff=evil\n*.inc filter=included\n")
    repo.put(".git/more", f'[filter "included"]\n\tclean = {script}\n\trequired = true\n')
    settings = {
        "core.fsmonitor": script, "filter.evil.clean": script, "filter.evil.smudge": script,
        "filter.evil.process": script, "filter.evil.required": "true", "diff.evil.command": script,
        "diff.evil.textconv": script, "diff.external": script, "commit.gpgSign": "true",
        "gpg.program": script, "core.pager": script, "include.path": "more",
        "core.sshCommand": script, "core.editor": script, "core.alternateRefsCommand": script,
    }  # fmt: skip
    with (repo.root / ".git/config").open("a") as file:
        for name, value in settings.items():
            section, _, key = name.rpartition(".")
            head, _, sub = section.partition(".")
            title = f'[{head} "{sub}"]' if sub else f"[{head}]"
            file.write(f"{title}\n\t{key} = {value}\n")
    (tmp_path / "sprung").unlink(missing_ok=True)
    repo.write(a_dot_txt="edited\n", b_dot_inc="included\n")
    run = RunIn(tmp_path, repo)
    assert run.base.trouble == ""
    repo.write(a_dot_txt="changed\n", c_dot_txt="new\n", b_dot_inc="changed\n")
    assert run.files() == {"a.txt": "changed", "b.inc": "changed", "c.txt": "added"}
    assert not (tmp_path / "sprung").exists()
    repo.git("status", ok=False)
    assert (tmp_path / "sprung").exists(), "the traps are not set"


def test_a_filter_of_the_users_own_is_not_run_either(repo, tmp_path):
    """A snapshot holds the files as they lie there: fleet starts no git-lfs."""
    (tmp_path / "user/.gitconfig").write_text(f'[filter "shout"]\n\tclean = {trap(tmp_path)}\n')
    repo.put(".gitattributes", "*.txt filter=shout\n")
    repo.put("new.txt", "quiet\n")
    run = RunIn(tmp_path, repo)
    assert run.git("cat-file", "blob", f"{run.base.snapshot}:new.txt") == "quiet"
    assert not (tmp_path / "sprung").exists()


def test_a_working_tree_elsewhere_is_not_followed(repo, tmp_path):
    """The configuration may say what it likes; the tree is the one around the directory."""
    other = tmp_path / "private"
    other.mkdir()
    (other / "secret").write_text("secret")
    repo.git("config", "core.worktree", str(other))
    run = RunIn(tmp_path, repo)
    assert run.git("ls-tree", "-r", "--name-only", run.base.snapshot) == "a.txt"


def test_variables_from_outside_do_not_lead_git_astray(repo, tmp_path, monkeypatch):
    """A supervisor started from a hook has GIT_DIR set."""
    other = Repo(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    found = run_baseline.record_base(str(repo.root), "fleet-1/1", home=tmp_path / "home")
    assert found.head == repo.git("rev-parse", "HEAD")
    assert not (tmp_path / "index").exists()


def test_git_that_hangs_is_ended_with_all_that_it_started(repo, tmp_path):
    """The time limit holds, and the whole group goes."""
    git = git_of(repo, seconds=0.5)
    script = f"sleep 60 &\necho $! > {tmp_path}/child\nwait"
    git.program = a_program(tmp_path / "bin/git", script)
    began = time.monotonic()
    with pytest.raises(GitFailed, match="took too long"):
        git.ask("status")
    assert time.monotonic() - began < 30
    child = int((tmp_path / "child").read_text())
    end = time.monotonic() + 30
    while _lives(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _lives(child)


def _lives(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_more_than_an_answer_holds_is_a_failure(repo):
    """Memory is bounded."""
    with pytest.raises(GitFailed, match="printed more than"):
        git_of(repo).ask("cat-file", "blob", "HEAD:a.txt", cap=2)


def test_git_says_why_it_failed(repo):
    """Its own fatal line, not a code."""
    with pytest.raises(GitFailed, match="fatal: Not a valid object name nonsense"):
        git_of(repo).ask("cat-file", "-t", "nonsense")


def test_filters_of_a_repository_are_undone():
    """Only names that the repository defines are touched."""
    entries = [
        "local", "filter.lfs.clean\nevil", "local", "filter.a=b.c.smudge\nevil",
        "local", "core.bare\nfalse", "command", "core.fsmonitor\nfalse", "",
    ]  # fmt: skip
    settings = dict(undone("\0".join(entries)))
    assert settings["filter.lfs.clean"] == settings["filter.lfs.smudge"] == ""
    assert settings["filter.a=b.c.smudge"] == ""
    assert "filter.lfs.process" not in settings


@pytest.mark.parametrize(
    ("added", "same"),
    [
        (b'[branch "x"]\n\tremote = origin\n\tmerge = refs/heads/x\n', True),
        (b"[user]\n\tname = somebody\n\temail = a@b\n", True),
        (b"[core]\n\thooksPath = /tmp\n", False),
        (b"[user]\n\tname = x\n[core]\n\tfsmonitor = evil\n", False),
        (b"[user]\n\tname = x\n  [core] fsmonitor = evil\n", False),
        (b'[branch "x"] [core]\n\tfsmonitor = evil\n', False),
        (b'[branch "x"][core]fsmonitor = evil\n', False),
        (b"[user]\n\tname = x \\\n[core]\n\tfsmonitor = evil\n", False),
    ],
)
def test_everyday_lines_of_the_configuration_are_no_change_of_it(added, same):
    """Which branch follows which, and who commits; anything else, however written, is one."""
    before = b"[core]\n\tbare = false\n"
    assert (guarded_config(before) == guarded_config(before + added)) is same


def test_a_link_or_a_pipe_in_the_place_of_a_setting_is_told_and_not_opened(repo):
    """No read waits for a pipe."""
    os.mkfifo(repo.root / ".mcp.json")
    (repo.root / ".claude").mkdir()
    (repo.root / ".claude/settings.json").symlink_to("/dev/zero")
    found = repository.guarded(repository.find(str(repo.root)))
    assert found[".claude/settings.json"] == "link:/dev/zero"
    assert found[".mcp.json"].startswith("size:0:")


def short_of(tmp_path, monkeypatch, words):
    """A machine on which git prints these words and gives up."""
    a_program(tmp_path / "bin/git", f"echo {words!r} >&2\nexit 128")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")


def test_a_commit_that_is_not_there_is_none(repo):
    """No ref of that name, no object of that name: an answer, and no fault."""
    git = git_of(repo)
    head = repo.git("rev-parse", "HEAD")
    assert commit_of(git, "refs/heads/none") == ""
    assert commit_of(git, f"{'1' * 40}^{{commit}}") == ""
    assert not is_ancestor(git, "1" * 40, head)
    assert is_ancestor(git, head, head)
    assert git.file("HEAD:a.txt", 100) == b"one\n"
    assert git.file("HEAD:none", 100) is None
    assert git.file("HEAD:a.txt", 3) is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda git: commit_of(git, "HEAD"),
        lambda git: is_ancestor(git, "HEAD", "HEAD"),
        lambda git: git.file("HEAD:a.txt", 100),
    ],
)
def test_a_machine_that_is_short_of_something_says_neither_yes_nor_no(
    repo, tmp_path, monkeypatch, ask
):
    """Else a run would have changed nothing, or lack what the branch has, by the machine's fault.

    The same where git cannot be started, or is too slow.
    """
    words = f"fatal: unable to create thread: {os.strerror(errno.EAGAIN)}"
    with pytest.raises(GitFailed):
        ask(git_of(repo, seconds=-1))
    short_of(tmp_path, monkeypatch, words)
    with pytest.raises(GitFailed) as failed:
        ask(git_of(repo))
    assert is_short(failed.value)


def test_a_tree_that_names_a_billion_files_fills_no_memory(repo, tmp_path, monkeypatch):
    """A thousand files in ten directories that are the same, six levels deep: a few kilobytes."""
    monkeypatch.setattr(git_command, "_memory", lambda: 64 << 20)
    git = git_of(repo, 60)
    name = git.line("rev-parse", "HEAD:a.txt").encode()
    rows = b"".join(b"100644 blob %s\t%0100d\n" % (name, n) for n in range(1000))
    for _ in range(7):
        tree = git.ask("mktree", feed=rows).strip()
        rows = b"".join(b"040000 tree %s\td%d\n" % (tree, n) for n in range(10))
    with pytest.raises(GitFailed, match=r"[Oo]ut of memory") as raised:
        git.at(git.repo, str(tmp_path / "index")).ask("read-tree", tree.decode())
    assert not is_short(raised.value), "it is the tree's fault, and no want of the machine"
