"""What every task that could run now waits for."""

from datetime import UTC, datetime

import pytest

from fleet.control.view.why_not_now import Conditions, _shared_reason
from fleet.processes.supervisor_lock import Holder
from fleet.runs.run_directory import ProcessId

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
HOLDER = Holder(who=ProcessId(pid=1, start_ticks=1, boot_id="b"), since=NOW)
SPENT = "The day's budget of /other is spent"


@pytest.mark.parametrize(
    ("stands_still", "reason"), [("", "its turn comes"), ("Nothing starts: x", "Nothing starts: x")]
)
def test_only_what_keeps_all_tasks_from_starting_is_the_reason_of_every_task(stands_still, reason):
    """A spent budget of one project, or a coder that is held, keeps no other task waiting."""
    at = Conditions(now=NOW, holder=HOLDER, hindrances=(SPENT,), stands_still=stands_still, slots=2)
    assert _shared_reason(at).reason == reason
