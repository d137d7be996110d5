"""Every fact of a forge, against the real Gitea."""

from itertools import count

import pytest

from tests.conftest import only_slow
from tests.contract.forge_facts import ForgeFacts
from tests.forges.real_gitea import real_gitea
from tests.forges.worlds import real_gitea_world

_NUMBERS = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with real_gitea(tmp_path_factory.mktemp("gitea") / "server") as server:
        yield server


@only_slow
class TestRealGitea(ForgeFacts):
    """Gitea 1.26 with SQLite on loopback. In every run tests/contract/test_scripted_forges.py
    asks the same of scripted ones.
    """

    @pytest.fixture
    def world(self, server, tmp_path):
        with real_gitea_world(server, tmp_path, f"app{next(_NUMBERS)}") as world:
            yield world
