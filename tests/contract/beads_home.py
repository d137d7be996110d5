"""Homes for tests against the real `bd`: one is initialised, and each test gets a copy."""

import shutil
from functools import cache
from pathlib import Path

import pytest

from fleet.queue.beads.init import init_beads
from tests.conftest import need


@pytest.fixture(scope="session")
def pristine_home(tmp_path_factory) -> Path:
    """An initialised home that nobody writes to: `bd init` takes seconds, a copy milliseconds."""
    need("bd")
    return _made(tmp_path_factory.getbasetemp())


@cache  # two test modules use the fixture, and each has its own
def _made(folder: Path) -> Path:
    home = folder / "pristine-beads" / "home"
    init_beads(home)
    return home


@pytest.fixture
def beads_home(pristine_home, tmp_path) -> Path:
    return shutil.copytree(pristine_home, tmp_path / "home")
