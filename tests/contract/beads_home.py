"""Homes for tests against the real `bd`: one is initialised, and each test gets a copy."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from fleet.files.file_lock import exclusive
from fleet.queue.beads.bd_cli.bd_database import init_beads
from tests.conftest import need

HOME = ".fleet"


@pytest.fixture(scope="session")
def pristine_home(shared_folder) -> Path:
    """An initialised home that no test writes to: `bd init` takes seconds, a copy milliseconds."""
    need("bd")
    project = shared_folder / "pristine-project"
    with exclusive(shared_folder / "pristine-project.lock"):
        if not project.exists():
            _make(project)
    return project / HOME


def _make(project: Path) -> None:
    """In a user's repository, of which a test asks later whether it was left alone."""
    project.mkdir()
    if git := shutil.which("git"):
        subprocess.run([git, "init", "--quiet"], cwd=project, check=True)
    before = fingerprint(project)
    assert init_beads(project / HOME) is True
    (project / HOME / "before.json").write_text(json.dumps(before))


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file of a folder with its content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


@pytest.fixture
def beads_home(pristine_home, tmp_path) -> Path:
    return shutil.copytree(pristine_home, tmp_path / "home")
