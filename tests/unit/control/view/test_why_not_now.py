"""What every task that could run now waits for."""

from datetime import UTC, datetime

import pytest

from fleet.control.view.why_not_now import Conditions, SupervisorNow, _shared_reason

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
SPENT = "The day's budget of /other is spent"


@pytest.mark.parametrize(
    ("stands_still", "reason"), [("", None), ("Nothing starts: x", "Nothing starts: x")]
)
def test_only_what_keeps_all_tasks_from_starting_is_the_reason_of_every_task(stands_still, reason):
    """A spent budget of one project, or a coder that is held, keeps no other task waiting."""
    at = Conditions(
        now=NOW,
        supervisor=SupervisorNow(alive=True, hindrances=(SPENT,), slots=2),
        stands_still=stands_still,
    )
    found = _shared_reason(at)
    assert (found and found.reason) == reason
