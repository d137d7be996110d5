"""Homes for tests against the real `bd`: one is initialised, and each test gets a copy."""

import shutil
from pathlib import Path

import pytest

from fleet.queue.beads.init import init_beads
from tests.conftest import need


@pytest.fixture(scope="session")
def pristine_home(tmp_path_factory) -> Path:
    """An initialised home that nobody writes to: `bd init` takes seconds, a copy milliseconds."""
    need("bd")
    home = tmp_path_factory.mktemp("pristine") / "home"
    init_beads(home)
    return home


@pytest.fixture
def beads_home(pristine_home, tmp_path) -> Path:
    return shutil.copytree(pristine_home, tmp_path / "home")
