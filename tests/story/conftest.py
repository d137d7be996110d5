"""Fixtures with real processes."""

import pytest

from tests.story.stage import Stage


@pytest.fixture
def stage(tmp_path):
    """A stage that is swept after the test, whatever the test left running."""
    stage = Stage(tmp_path)
    yield stage
    stage.close()
