"""`fleet` itself: what holds for every command."""

import sys

import pytest

from fleet.cli.root import fleet
from fleet.config import default_text


@pytest.mark.parametrize("wanted", [True, False])
def test_no_color_holds_for_every_command(home, monkeypatch, capsys, wanted):
    """On a terminal, too: the variable is the person's word."""
    home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(home.path))
    monkeypatch.setenv("NO_COLOR", "" if wanted else "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert fleet(["config", "show"]) == 0
    assert ("\x1b[" in capsys.readouterr().out) is wanted
