"""Fixtures with real processes."""

import pytest

from tests.story.scene import Scene
from tests.story.stage import Stage


@pytest.fixture
def stage(tmp_path):
    """A stage that is swept after the test, whatever the test left running."""
    stage = Stage(tmp_path)
    yield stage
    stage.close()


@pytest.fixture
def scene(tmp_path):
    """A fleet home whose supervisors and agents are gone after the test."""
    scene = Scene(tmp_path)
    yield scene
    scene.close()
