"""A surface that stays open has the settings of now."""

import pytest

from fleet.config import default_text
from fleet.control import KeptHome, opened
from fleet.errors import FleetError


@pytest.fixture
def kept(home):
    home.config.write_text(default_text(max_concurrent=3))
    return KeptHome(lambda: opened({"FLEET_HOME": str(home.path)}))


def test_settings_that_change_are_read_anew(home, kept):
    """And as long as they do not, the home stays open."""
    first = kept.fleet()
    assert kept.fleet() is first
    home.config.write_text(default_text(max_concurrent=17))
    assert kept.fleet().config.max_concurrent == 17


def test_settings_that_cannot_be_read_are_told_until_they_can(home, kept):
    """The surface lives on meanwhile."""
    kept.fleet()
    home.config.write_text("max_concurrent = [\n")
    for _ in range(2):
        with pytest.raises(FleetError):
            kept.fleet()
    home.config.write_text(default_text(max_concurrent=5))
    assert kept.fleet().config.max_concurrent == 5
