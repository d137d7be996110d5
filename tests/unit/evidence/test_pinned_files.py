"""Pinned files: as they were while the exam lasts, as the agent left them afterwards."""

import os
import subprocess

import pytest

from fleet.errors import FleetError
from fleet.evidence.pinned_files import FOLDER, originals, put_back
from fleet.git.run_baseline import record_base
from tests.conftest import need


@pytest.fixture
def project(tmp_path):
    """A repository with an exam, and the run's directory beside it."""
    git = [need("git"), "-C", str(tmp_path / "project")]
    (tmp_path / "project/tests").mkdir(parents=True)
    run_dir_of(tmp_path / "project").mkdir(parents=True)
    (tmp_path / "project/tests/exam.sh").write_text("exit 1\n")
    (tmp_path / "project/tests/exam.sh").chmod(0o755)
    (tmp_path / "project/tests/data.txt").write_text("42\n")
    (tmp_path / "project/.gitignore").write_text("*.pyc\n")
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
           "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "exam"]):
        subprocess.run([*git, *words], check=True, env=os.environ | who)
    return tmp_path / "project"


def run_dir_of(project):
    return project.parent / "home/tasks/fleet-a/runs/1"


@pytest.fixture
def base(project):
    return record_base(str(project), "fleet-a/1", home=project.parent / "home")


def texts(folder):
    return {path.name: path.read_text() for path in sorted(folder.iterdir()) if path.is_file()}


def test_a_changed_a_deleted_and_a_new_file_are_undone_for_the_exam_only(project, base):
    """Afterwards the tree is the agent's again, to the byte and the mode."""
    exam, tests = project / "tests/exam.sh", project / "tests"
    exam.write_text("exit 0\n")
    exam.chmod(0o644)
    (tests / "data.txt").unlink()
    (tests / "conftest.py").write_text("skip everything")
    (tests / "cache.pyc").write_text("not looked at")
    left = texts(tests)
    with originals(base, ("tests",), str(project), run_dir_of(project)) as restored:
        assert sorted(restored) == ["tests/conftest.py", "tests/data.txt", "tests/exam.sh"]
        assert exam.read_text() == "exit 1\n"
        assert os.access(exam, os.X_OK)
        assert texts(tests) == {
            "cache.pyc": "not looked at",
            "data.txt": "42\n",
            "exam.sh": "exit 1\n",
        }
    assert texts(tests) == left
    assert not os.access(exam, os.X_OK) or os.geteuid() == 0


def test_what_nobody_touched_is_not_touched(project, base):
    """Not even its time."""
    before = (project / "tests/exam.sh").stat().st_mtime_ns
    with originals(base, ("tests/exam.sh",), str(project), run_dir_of(project)) as restored:
        assert restored == ()
    assert (project / "tests/exam.sh").stat().st_mtime_ns == before


def test_a_pin_is_named_from_the_tasks_own_directory(project, base):
    """Which may lie below the top of the repository."""
    (project / "tests/exam.sh").write_text("exit 0\n")
    here = str(project / "tests")
    with originals(base, ("exam.sh",), here, run_dir_of(project)) as restored:
        assert restored == ("exam.sh",)
        assert (project / "tests/exam.sh").read_text() == "exit 1\n"


def test_a_supervisor_that_dies_in_between_costs_no_file(project, base):
    """The next one puts back what the journal tells of."""
    run_dir = run_dir_of(project)
    (project / "tests/exam.sh").write_text("exit 0\n")
    swap = originals(base, ("tests",), str(project), run_dir)
    swap.__enter__()
    assert (project / "tests/exam.sh").read_text() == "exit 1\n"
    put_back(run_dir / FOLDER)  # as the next one does; the first never leaves its `with`
    assert (project / "tests/exam.sh").read_text() == "exit 0\n"
    put_back(run_dir / FOLDER)
    assert (project / "tests/exam.sh").read_text() == "exit 0\n"


def test_a_link_in_the_place_of_the_exam_is_no_way_out(project, base):
    """What it points to is not written to."""
    outside = project.parent / "outside"
    outside.write_text("precious")
    (project / "tests/exam.sh").unlink()
    (project / "tests/exam.sh").symlink_to(outside)
    with originals(base, ("tests",), str(project), run_dir_of(project)):
        assert (project / "tests/exam.sh").read_text() == "exit 1\n"
    assert outside.read_text() == "precious"
    assert (project / "tests/exam.sh").is_symlink()


def test_a_pin_that_never_was_is_an_error(project, base):
    """An exam that does not exist cannot be passed."""
    with (
        pytest.raises(FleetError, match="no such file when the run began"),
        originals(base, ("nope.sh",), str(project), run_dir_of(project)),
    ):
        pass


def test_without_a_repository_nothing_can_be_pinned(tmp_path):
    """And the receipt does not pretend."""
    with (
        pytest.raises(FleetError, match="cannot be had as they were"),
        originals(None, ("exam.sh",), str(tmp_path), tmp_path),
    ):
        pass
