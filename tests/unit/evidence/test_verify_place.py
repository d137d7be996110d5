"""Verify commands see what the run left and git stores, with pinned files as they were."""

import os
import py_compile
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from fleet.errors import FleetError
from fleet.evidence.verify_place import FOLDER, InspectedRun, verify_place
from fleet.runs.run_directory import Run
from fleet.schemas import Policy
from fleet.schemas.policy import CopyRules
from tests.repos import ENV, RunIn


@pytest.fixture
def repo(repo):
    """A repository with an exam."""
    repo.commit(
        tests__exam_dot_sh="exit 1\n", tests__data_dot_txt="42\n", app__main_dot_py="old\n",
        _dot_gitignore="*.pyc\n__pycache__/\n.venv\nnode_modules/\n",
    )  # fmt: skip
    return repo


class Verified:
    """A run that is over, and what it is verified with."""

    def __init__(self, repo, tmp_path, cwd="."):
        self.repo, self.cwd = repo, cwd
        self.ran = RunIn(tmp_path, repo)

    def place(self, *pins, work_in="clone", **rules):
        cwd = str(self.repo.root / self.cwd)
        ended = InspectedRun(
            run=Run(self.ran.dir), cwd=cwd, base=self.ran.base,
            policy=Policy(pins=pins, work_in=work_in, copies=CopyRules(**rules)), claimed=True,
        )  # fmt: skip
        return verify_place(ended, self.ran.changes())


@pytest.fixture
def run(repo, tmp_path):
    return Verified(repo, tmp_path)


def files(place):
    found = subprocess.run(
        ["find", ".", "-path", "./.git", "-prune", "-o", "-type", "f", "-print"],
        cwd=place.cwd, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {name.removeprefix("./") for name in found.stdout.split()}


def git(place, *words):
    done = subprocess.run(
        ["git", *words], cwd=place.cwd, env=ENV, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_checkout_has_what_the_run_left_and_nothing_that_git_ignores(run, repo):
    """Committed, staged or new; and afterwards it is gone."""
    repo.commit(app__main_dot_py="committed\n")
    repo.write(new_dot_txt="new\n", app__main_dot_py="uncommitted\n")
    repo.write(x_dot_pyc="byte code", _dot_venv__bin__python="evil")
    with run.place() as place:
        assert files(place) == {
            ".gitignore", "app/main.py", "new.txt", "tests/data.txt", "tests/exam.sh",
        }  # fmt: skip
        assert Path(place.cwd, "app/main.py").read_text() == "uncommitted\n"
        assert place.tree == run.ran.changes().tree
        where = place.cwd
    assert not Path(where).exists()
    assert not (run.ran.dir / FOLDER).exists()


def test_git_in_the_checkout_tells_what_it_tells_in_the_project(run, repo):
    """Many tests ask git; what they write stays in the checkout."""
    head = repo.commit(app__main_dot_py="committed\n")
    repo.write(app__main_dot_py="uncommitted\n")
    with run.place() as place:
        assert git(place, "rev-parse", "HEAD") == head
        assert git(place, "branch", "--show-current") == "main"
        assert git(place, "diff", "HEAD", "--name-only") == "app/main.py"
        git(place, "commit", "-qam", "of a test")
        assert git(place, "status", "--porcelain") == ""
    assert repo.git("rev-parse", "main") == head


def test_a_changed_a_deleted_and_a_new_pinned_file_are_as_they_were(run, repo):
    """In the checkout alone: nothing in the person's directory is written."""
    repo.put("tests/exam.sh", "exit 0\n")
    (repo.root / "tests/data.txt").unlink()
    repo.put("tests/conftest.py", "skip everything\n")
    with run.place("tests") as place:
        assert sorted(place.restored) == ["tests/conftest.py", "tests/data.txt", "tests/exam.sh"]
        assert Path(place.cwd, "tests/exam.sh").read_text() == "exit 1\n"
        assert files(place) >= {"tests/data.txt"}
        assert "tests/conftest.py" not in files(place)
        assert place.tree != run.ran.changes().tree
        assert (repo.root / "tests/exam.sh").read_text() == "exit 0\n"
        assert run.ran.git("rev-parse", "refs/fleet/fleet-1/1.checked") == place.tree
    assert run.ran.files()["tests/conftest.py"] == "added"


def test_forged_byte_code_does_not_make_a_pinned_test_pass(run, repo):
    """With the time and the size of the source it passes for the source's own."""
    test = repo.put("exams/test_it.py", "raise SystemExit(1)\n")
    repo.commit()
    run.ran = RunIn(repo.root.parent, repo, number=2)
    honest = repo.put("exams/forged.py", "raise SystemExit(0)\n")
    times = test.stat()
    os.utime(honest, ns=(times.st_mtime_ns, times.st_mtime_ns))
    cache = test.parent / "__pycache__" / f"test_it.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(str(honest), cfile=str(cache))
    honest.unlink()
    command = [sys.executable, "-c", "import exams.test_it"]
    fooled = subprocess.run(command, cwd=repo.root, check=False)
    assert fooled.returncode == 0, "the forgery is none"
    with run.place("exams") as place:
        assert subprocess.run(command, cwd=place.cwd, check=False).returncode == 1


def test_a_pin_is_named_from_the_tasks_own_directory(repo, tmp_path):
    """Which may lie below the top of the repository."""
    run = Verified(repo, tmp_path, cwd="tests")
    repo.put("tests/exam.sh", "exit 0\n")
    with run.place("exam.sh") as place:
        assert place.restored == ("exam.sh",)
        assert place.cwd.endswith("/tests")
        assert Path(place.cwd, "exam.sh").read_text() == "exit 1\n"


def test_a_link_in_the_place_of_a_pinned_file_is_no_way_out(run, repo, tmp_path):
    """Neither as the file nor as the directory that it lies in."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "exam.sh").write_text("precious")
    shutil.rmtree(repo.root / "tests")
    (repo.root / "tests").symlink_to(outside)
    with run.place("tests/exam.sh") as place:
        assert Path(place.cwd, "tests/exam.sh").read_text() == "exit 1\n"
    assert (outside / "exam.sh").read_text() == "precious"


def test_a_link_in_the_place_of_the_tasks_own_directory_is_refused(repo, tmp_path):
    """Its commands would run wherever the link leads, and would pass there."""
    run = Verified(repo, tmp_path, cwd="tests")
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(repo.root / "tests")
    (repo.root / "tests").symlink_to(outside)
    with pytest.raises(FleetError, match="out of the checkout"), run.place():
        pass


def test_a_forged_object_is_not_taken_for_the_pinned_file(run, repo):
    """Git does not compare what it reads with the name that it reads it by."""
    blob = repo.git("rev-parse", "HEAD:tests/exam.sh")
    repo.put("tests/exam.sh", "exit 0\n")
    loose = repo.root / ".git/objects" / blob[:2] / blob[2:]
    loose.chmod(0o600)
    loose.write_bytes(zlib.compress(b"blob 7\0exit 0\n"))
    assert repo.git("cat-file", "blob", blob) == "exit 0"
    with pytest.raises(FleetError, match="was forged"), run.place("tests"):
        pass


@pytest.mark.parametrize(
    ("pins", "rules", "what"),
    [
        (("nope.sh",), {}, "no such file when the run began"),
        (("tests",), {"work_in": "directory"}, "only a clone is verified"),
    ],
)
def test_pins_that_cannot_be_had_are_an_error(run, pins, rules, what):
    """An exam that is not there cannot be passed."""
    with pytest.raises(FleetError, match=what), run.place(*pins, **rules):
        pass


def test_without_a_repository_nothing_can_be_pinned(tmp_path):
    """And the receipt does not pretend; without pins the directory itself is verified in."""
    ended = InspectedRun(
        run=Run(tmp_path), cwd=str(tmp_path), policy=Policy(), base=None, claimed=True
    )
    with verify_place(ended, None) as place:
        assert (place.cwd, place.tree) == (str(tmp_path), "")
    ended = InspectedRun(
        run=Run(tmp_path), cwd=str(tmp_path), policy=Policy(pins=("x",)), base=None, claimed=True
    )
    with pytest.raises(FleetError, match="there is no repository"), verify_place(ended, None):
        pass


def test_work_in_the_directory_itself_is_verified_there(run, repo):
    """With all that lies there."""
    with run.place(work_in="directory") as place:
        assert (place.cwd, place.tree) == (str(repo.root / "."), "")


def test_what_the_project_shares_is_linked_and_what_it_might_miss_is_named(run, repo):
    """A path that git holds itself is not replaced."""
    repo.write(_dot_venv__bin__python="python", node_modules__x="x")
    share = (".venv", "tests", "nowhere")
    with run.place(share=share, project=str(repo.root)) as place:
        assert Path(place.cwd, ".venv").readlink() == repo.root / ".venv"
        assert not Path(place.cwd, "tests").is_symlink()
        assert place.lacks == ("node_modules",)
    assert (repo.root / ".venv/bin/python").exists(), "the link goes, not what it leads to"


def test_a_secret_is_verified_only_where_it_is_committed(run, repo):
    """The commands run on the tree that lands: what would not land is missing there too."""
    repo.put(".env.local", "KEY=mine\n")
    run.ran = RunIn(repo.root.parent, repo, number=2)
    repo.put("tests/server.pem", "a test's own\n")
    repo.git("add", "tests/server.pem")
    repo.git("commit", "-q", "-m", "a certificate")
    repo.put("tests/other.pem", "not committed\n")
    with run.place() as place:
        assert "tests/server.pem" in files(place)
        assert files(place).isdisjoint({".env.local", "tests/other.pem"})


def test_a_checkout_that_a_dead_supervisor_left_is_used_or_replaced(run, repo):
    """By its tree: commands may still be at work in the one of the same tree."""
    dead = run.place()
    begun = dead.__enter__()
    Path(begun.cwd, "built").touch()
    with run.place() as place:
        assert place.cwd == begun.cwd
        assert Path(place.cwd, "built").exists()
    dead = run.place()
    begun = dead.__enter__()
    repo.put("more.txt", "more\n")
    with run.place() as place:
        assert place.cwd != begun.cwd
        assert not Path(begun.cwd).exists()


def test_a_checkout_goes_even_if_it_cannot_be_written(run):
    """Some programs protect what they download."""
    with run.place() as place:
        cache = Path(place.cwd, "cache")
        cache.mkdir()
        (cache / "file").touch()
        cache.chmod(0o500)
    assert not (run.ran.dir / FOLDER).exists()
