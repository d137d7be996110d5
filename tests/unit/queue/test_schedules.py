"""Lines of schedules that an earlier fleet recorded."""

import pytest
from msgspec import structs

from tests.contract.queue_facts.scheduling import NIGHTLY


@pytest.mark.parametrize(
    ("recorded", "today"),
    [
        (("x", "--isolation", "clone"), ("x", "--work-in", "clone")),
        (("x", "--isolation=none", "-p", "1"), ("x", "--work-in=directory", "-p", "1")),
        (("--isolation", "none", "none"), ("--work-in", "directory", "none")),
        (("x", "--sandbox", "strict"), ("x", "--sandbox", "strict")),
    ],
)
def test_a_recorded_line_names_where_to_work_in_todays_words(recorded, today):
    """A schedule goes on making tasks after an upgrade."""
    assert structs.replace(NIGHTLY, args=recorded).args == today
