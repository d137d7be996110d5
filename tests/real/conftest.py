"""What the tests against real programs share."""

from contextlib import ExitStack

import pytest

from tests.conftest import need
from tests.contract.beads_home import beads_home, pristine_home
from tests.real import agents
from tests.real.bd_parity import make_home
from tests.real.house import a_house
from tests.real.loaded import Requests

__all__ = ["beads_home", "pristine_home"]


@pytest.fixture(scope="session")
def bd() -> str:
    return need("bd")


@pytest.fixture(scope="session")
def bd_home(pristine_home, tmp_path_factory):
    """A home with an empty bd database and a git identity, to be copied."""
    return make_home(pristine_home, tmp_path_factory.mktemp("bd") / "home")


@pytest.fixture(scope="session")
def requests(shared_folder):
    """The first request of each CLI in each context."""
    return Requests(shared_folder)


@pytest.fixture
def house():
    """Makes a house with a real CLI, around a scripted model; all is gone at the end."""
    with ExitStack() as houses:
        yield lambda program, model: houses.enter_context(
            a_house(agents.cli_directory(program), model.url)
        )
