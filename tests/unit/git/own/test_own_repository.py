"""What an agent writes into a project's git directory is neither run nor believed."""

import time

import pytest

from fleet.git import repository, run_baseline
from fleet.git.own.own_repository import own_repository
from fleet.git.own.project_refs import write_refs
from fleet.git.repository import GitFailed
from tests.builders import a_program
from tests.repos import Repo, RunIn

LARGE = "# padding\n" * 120_000


@pytest.fixture
def repo(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir()
    repo.commit(a_dot_txt="one\n", _dot_gitattributes="*.txt filter=evil diff=evil merge=evil\n")
    return repo


@pytest.fixture
def trap(tmp_path):
    """A configuration that leaves a mark wherever git would run a filter or a driver of it."""
    script = a_program(tmp_path / "trap.sh", f"echo sprung >> {tmp_path}/sprung\ncat")
    return (
        f'[filter "evil"]\n\tclean = {script}\n\tsmudge = {script}\n\tprocess = {script}\n'
        f'[diff "evil"]\n\tcommand = {script}\n\ttextconv = {script}\n'
        f'[merge "evil"]\n\tdriver = {script}\n[core]\n\tfsmonitor = {script}\n'
    )


@pytest.fixture
def sprung(tmp_path):
    yield (tmp_path / "sprung").exists
    assert not (tmp_path / "sprung").exists()


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_a_configuration_too_large_to_be_one_is_refused(repo, tmp_path, trap, sprung):
    """Before an agent begins: a project may be unpacked with its `.git`."""
    append(repo.root / ".git/config", LARGE + trap)
    repo.write(a_dot_txt="edited\n")
    with pytest.raises(GitFailed, match="larger than 1 MiB"):
        RunIn(tmp_path, repo)


def test_a_configuration_that_grew_during_the_run_is_a_finding(repo, tmp_path, trap, sprung):
    """Nothing is assumed: neither the changes nor the refs are taken for known."""
    run = RunIn(tmp_path, repo)
    append(repo.root / ".git/config", LARGE + trap)
    repo.write(a_dot_txt="edited\n")
    changes = run.changes()
    assert "cannot be read" in changes.trouble
    now = run_baseline.base_now(run.base, run.home)
    assert "cannot be read" in now.damage
    assert now.guarded[".git/config"] != run.base.guarded[".git/config"]


def test_a_ref_of_the_project_is_written_without_its_configuration(repo, tmp_path):
    """So no hook of it runs, by whatever words a later git finds hooks in there."""
    repo_found = repository.find(str(repo.root))
    own = own_repository(tmp_path / "home", repo_found)
    mark = tmp_path / "sprung"
    a_program(repo.root / ".git/hooks/reference-transaction", f"touch {mark}")
    head = repo.git("rev-parse", "HEAD")
    mark.unlink(missing_ok=True)
    append(repo.root / ".git/config", "[hook\n")  # no git reads on after this line
    write_refs(own, repo_found, time.monotonic() + 10, to={"refs/fleet/fleet-1/1": head})
    assert not mark.exists()
    assert (repo.root / ".git/refs/fleet/fleet-1/1").read_text().strip() == head


def test_a_bare_repository_in_the_top_directory_is_not_taken(repo, tmp_path, trap, sprung):
    """Git looks there, if it refuses the `.git`; fleet names the directory it means."""
    run = RunIn(tmp_path, repo)
    Repo(tmp_path / "other").git("clone", "-q", "--bare", str(repo.root), str(tmp_path / "bare"))
    for part in (tmp_path / "bare").iterdir():
        if part.name != "hooks":
            part.rename(repo.root / part.name)
    append(repo.root / "config", trap)
    (repo.root / ".git/HEAD").write_text("nonsense\n")
    repo.write(a_dot_txt="edited\n")
    assert "not a git repository" in run.changes().trouble
    assert "not a git repository" in run_baseline.base_now(run.base, run.home).damage


def test_a_common_directory_is_the_one_that_fleet_read(repo, tmp_path, trap, sprung):
    """Git takes a blank at the end of `commondir` for a part of the name."""
    place = tmp_path / "tree"
    repo.git("worktree", "add", "-q", "--detach", str(place))
    run = RunIn(tmp_path, repo, cwd=place)
    evil = Repo(tmp_path / "evil")
    evil.commit(a_dot_txt="one\n")
    append(evil.root / ".git/config", trap)
    blank = repo.root / ".git "
    (evil.root / ".git").rename(blank)
    (repo.root / ".git/worktrees/tree/commondir").write_text(f"{repo.root}/.git \n")
    (place / "a.txt").write_text("edited\n")
    assert run.files() == {"a.txt": "changed"}
    assert run_baseline.base_now(run.base, run.home).refs == run.base.refs
    assert ".git/commondir" in changed_guards(run)


def test_an_extension_of_lfs_is_not_run(repo, tmp_path, sprung):
    """The user's own filter would run what the project's configuration names."""
    lfs = a_program(tmp_path / "git-lfs", 'sh -c "$(git config lfs.extension.x.clean)"')
    (tmp_path / "user/.gitconfig").write_text(f'[filter "lfs"]\n\tclean = {lfs}\n')
    repo.put(".gitattributes", "*.bin filter=lfs\n")
    repo.git("config", "lfs.extension.x.clean", f"touch {tmp_path}/sprung; cat")
    repo.put("film.bin", "content\n")
    run = RunIn(tmp_path, repo)
    repo.put("film.bin", "other content\n")
    assert run.files() == {"film.bin": "changed"}
    assert run.git("show", f"{run.base.snapshot}:film.bin") == "content"


def test_a_nested_repository_is_not_asked(repo, tmp_path, trap, sprung):
    """Not even as a submodule that the index knows."""
    inner = Repo(repo.root / "inner")
    inner.commit(x_dot_txt="1\n", _dot_gitattributes="*.txt filter=evil\n")
    repo.git("add", "inner")
    repo.commit()
    append(inner.root / ".git/config", trap)
    run = RunIn(tmp_path, repo)
    inner.write(x_dot_txt="2\n")
    repo.write(a_dot_txt="edited\n")
    assert run.files() == {"a.txt": "changed"}


def test_a_git_directory_that_was_put_in_its_place_is_a_finding(repo, tmp_path):
    """`rm -r .git; git init` and `.git` as a file that leads elsewhere: both are told."""
    run = RunIn(tmp_path, repo)
    other = Repo(tmp_path / "other")
    (repo.root / ".git").rename(tmp_path / "aside")
    (repo.root / ".git").write_text(f"gitdir: {other.root}/.git\n")
    assert "no repository any more" in run.changes().trouble
    assert run_baseline.base_now(run.base, run.home).gone
    (repo.root / ".git").unlink()
    (tmp_path / "aside").rename(repo.root / ".git-moved")
    (repo.root / ".git").symlink_to(".git-moved")
    assert ".git" in changed_guards(run)


def changed_guards(run):
    before, after = run.base.guarded, run_baseline.base_now(run.base, run.home).guarded
    return {name for name in {**before, **after} if before.get(name) != after.get(name)}


def test_the_project_is_left_without_objects_of_fleets(repo, tmp_path):
    """A snapshot is stored in the home; the project gets one ref to a commit of its own."""
    before = repo.git("count-objects", "-v")
    repo.put("new.txt", "new\n")
    run = RunIn(tmp_path, repo)
    assert run.base.snapshot
    assert repo.git("count-objects", "-v") == before
    assert repo.git("rev-parse", run_baseline.ref_of(run.key)) == repo.git("rev-parse", "HEAD")
    assert repo.git("fsck", "--strict") == ""
