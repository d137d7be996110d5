"""The supervisor knows of each command by which a person closes a task."""

import pytest

from fleet.control.queue.note_closing import note_closing
from fleet.runs import closed_by_hand


@pytest.mark.parametrize(
    ("line", "closed"),
    [
        ("close fleet-a fleet-b", "ab"),
        ("done fleet-a fleet-b", "a"),
        ("supersede fleet-a --with fleet-b", "a"),
        ("duplicate a --of fleet-b", "a"),
        ("update fleet-a --status closed", "a"),
        ("update fleet-a --status shipped", "a"),
        ("update fleet-a --status blocked", ""),
        ("update fleet-a --title x", ""),
        ("close --bogus fleet-a", ""),
    ],
)
def test_a_line_that_may_close_a_task_leaves_a_mark(home, line, closed):
    """Without the mark a task that was closed during a run is opened again."""
    for name in "ab":
        home.task(f"fleet-{name}").mkdir(parents=True)
    note_closing(home, line.split(), {"BEADS_ACTOR": "ann"})
    marked = [name for name in "ab" if closed_by_hand.noted(home.task(f"fleet-{name}"), None)]
    assert "".join(marked) == closed
