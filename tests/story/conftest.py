"""Fixtures with real processes."""

import pytest

from tests.conftest import missing
from tests.contract.postgres_server import binaries
from tests.machines.network import missing_tool
from tests.story.scene import Scene
from tests.story.stage import Stage


@pytest.fixture
def stage(tmp_path):
    """A stage that is swept after the test, whatever the test left running."""
    stage = Stage(tmp_path)
    yield stage
    stage.close()


@pytest.fixture
def cluster():
    """Hosts in network namespaces on a PostgreSQL, all gone after the test."""
    from tests.machines.cluster import Cluster  # psycopg, which a laptop may lack

    tool = missing_tool() or ("" if binaries() else "postgresql")
    if tool:
        missing(tool)
    found = Cluster()
    yield found
    found.close()


@pytest.fixture
def scene(tmp_path):
    """A fleet home whose supervisors and agents are gone after the test."""
    scene = Scene(tmp_path)
    yield scene
    scene.close()
