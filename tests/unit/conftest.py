"""What the unit tests of several rooms need."""

import pytest

from fleet.config import Config
from fleet.control import Control
from fleet.git.checkout.fresh_checkout import remove_tree
from fleet.home import Home, make_home
from tests.builders import dig
from tests.conftest import need
from tests.repos import Repo
from tests.restored import Restored


@pytest.fixture
def home(tmp_path):
    """A new home, without a config file."""
    home = Home(tmp_path / "home")
    make_home(home)
    return home


@pytest.fixture
def fleet(home):
    """The home opened with default settings, and with them the embedded queue."""
    control = Control(home, Config())
    yield control
    control.close()


@pytest.fixture
def repo(tmp_path):
    """A git repository without a commit."""
    need("git")
    return Repo(tmp_path / "repo")


@pytest.fixture(scope="session")
def restored(tmp_path_factory):
    """Directories that are made once for many tests, and as new for each."""
    return Restored(tmp_path_factory.mktemp("restored"))


@pytest.fixture
def said():
    """The lines that a part of fleet printed."""
    return []


@pytest.fixture
def a_deep_tree(tmp_path):
    """A tree that an agent may dig; removed as fleet removes one, which pytest cannot."""
    yield dig(tmp_path / "deep")
    remove_tree(tmp_path / "deep")
