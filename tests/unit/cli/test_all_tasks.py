"""The lines of `fleet tasks --all`."""

import pytest

from fleet.cli.inspect.all_tasks import all_view
from fleet.cli.terminal_text import ENDLESS
from fleet.control.view.why_not_now import WayOn
from tests.builders import NOW
from tests.unit.tui.homes import a_now, a_row


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (
            "finished without closing the task",
            " · finished without closing the task (fleet retry x)",
        ),
        ("stopped by Ann; to go on: fleet retry x", " · stopped by Ann; to go on: fleet retry x"),
    ],
)
def test_the_way_on_is_said_once(reason, shown):
    """Many a reason ends with the command that goes on."""
    way_on = WayOn(verb="retry", line="fleet retry x")
    row = a_row(group="needs_you", status="blocked", reason=reason, way_on=way_on)
    lines = list(all_view(a_now((row,)), [], NOW, ENDLESS, 9))
    assert lines[1].endswith(shown)
