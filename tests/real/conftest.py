"""What the tests against real programs share."""

import pytest

from tests.conftest import need
from tests.real.bd_parity import make_home


@pytest.fixture(scope="session")
def bd() -> str:
    return need("bd")


@pytest.fixture(scope="session")
def bd_home(bd, tmp_path_factory):
    """A home with an empty bd database, to be copied."""
    return make_home(bd, tmp_path_factory.mktemp("bd") / "home")
