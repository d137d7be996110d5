"""Homes for tests against the real `bd`: one is initialised, and each test gets a copy."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from fleet.queue.beads.init import init_beads
from tests.conftest import need


@pytest.fixture(scope="session")
def pristine_home(tmp_path_factory) -> Path:
    """An initialised home that nobody writes to: `bd init` takes seconds, a copy milliseconds."""
    need("bd")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # which all workers share
    home = folder / "pristine-beads"
    with (folder / "pristine-beads.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        init_beads(home)  # does nothing where there is one
    return home


@pytest.fixture
def beads_home(pristine_home, tmp_path) -> Path:
    return shutil.copytree(pristine_home, tmp_path / "home")
