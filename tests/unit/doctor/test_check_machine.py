"""What doctor says of boxes: it tries one, and knows which tasks want one."""

from datetime import UTC, datetime

import pytest

from fleet.config import Config
from fleet.doctor import check_machine
from fleet.doctor.check_result import Installation
from fleet.home import Home
from fleet.sandbox.try_box import BoxTrial

LACKING = BoxTrial("bwrap is not on PATH", "Install it: apt install bubblewrap.")


@pytest.mark.parametrize(
    ("level", "trial", "severity"),
    [
        ("off", BoxTrial(), "ok"),
        ("workspace", BoxTrial(), "ok"),
        ("off", LACKING, "warning"),
        ("workspace", LACKING, "error"),
    ],
)
def test_a_box_that_is_wanted_and_not_there_is_an_error(
    monkeypatch, tmp_path, level, trial, severity
):
    """Such tasks do not begin; where none is wanted it is worth a word."""
    monkeypatch.setattr(check_machine, "try_box", lambda _env: trial)
    here = Installation(
        home=Home(tmp_path), env={}, now=datetime.now(UTC), config=Config(sandbox=level)
    )
    (found,) = check_machine.sandbox(here)
    assert found.severity == severity
    assert ("apt install bubblewrap" in found.fix) is (trial is LACKING)


@pytest.mark.parametrize(("trial", "severity"), [(BoxTrial(), "ok"), (LACKING, "warning")])
def test_without_settings_that_can_be_read_no_level_is_named(
    monkeypatch, tmp_path, trial, severity
):
    """A file with a mistake may say `workspace`: doctor does not guess `off`."""
    monkeypatch.setattr(check_machine, "try_box", lambda _env: trial)
    here = Installation(home=Home(tmp_path), env={}, now=datetime.now(UTC), config=None)
    (found,) = check_machine.sandbox(here)
    assert (found.severity, "sandbox =" in found.what) == (severity, False)
