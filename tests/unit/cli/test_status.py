"""What `fleet status` says."""

from datetime import timedelta

import pytest

from fleet.accounts.account_state import LimitRefused
from fleet.accounts.account_store import open_accounts
from fleet.cli.run.status import rows
from fleet.cli.terminal_text import row
from fleet.config import Config
from fleet.control import Control
from fleet.control.pause import pause, unpause
from fleet.control.queue.needs_person import BlockedTask
from fleet.control.status import FleetStatus, fleet_status
from fleet.queue.protocol import Draft
from fleet.schemas import RateLimit
from tests.builders import NOW


@pytest.fixture
def fleet(home):
    control = Control(home, Config(max_concurrent=4))
    yield control
    control.close()


@pytest.mark.parametrize(
    "seen",
    [
        FleetStatus(home="/h", queue="embedded", running=False),
        FleetStatus(home="/h", queue="embedded", running=False, runs=2, slots=3),
        FleetStatus(
            home="/h",
            queue="beads",
            running=True,
            pid=4711,
            since=NOW - timedelta(hours=30),
            runs=2,
            slots=3,
            paused=True,
            paused_since=NOW - timedelta(minutes=5),
            cooling={"codex": NOW + timedelta(hours=2), "claude": NOW + timedelta(minutes=9)},
            tasks={"closed": 10, "open": 3, "in_progress": 2, "on_ice": 1},
            lost_log_lines=7,
        ),
        FleetStatus(
            home="/h", queue="embedded", running=False, needing=1,
            needs_you=(
                BlockedTask(
                    id="x", title="Be neat", state="needs approval",
                    why="land = ask; to land it: fleet land x", way_out="fleet land x",
                ),
            ),
        ),
        FleetStatus(
            home="/h", queue="postgresql", running=True, pid=1, since=NOW,
            queue_problem="the server is gone",
        ),
    ],
    ids=["nobody", "agents alone", "everything", "a way that is told", "a broken queue"],
)  # fmt: skip
def test_status_reads_well(seen, snapshot):
    """One line a fact, each with what to do where there is something to do."""
    assert "\n".join(f"{name}: {value}" for name, value in rows(seen, NOW)) == snapshot


def test_a_home_without_a_supervisor_still_tells_what_it_knows(fleet):
    """Tasks, the pause, and coders whose limit a supervisor wrote down before it ended."""
    fleet.queue.add(Draft(title="One"))
    accounts = open_accounts(fleet.home.path)
    for coder, hours in (("claude", 1), ("codex", -1)):
        reset = NOW + timedelta(hours=hours)
        limit = RateLimit(kind="five_hour", resets_at=reset)
        refused_at = min(NOW, reset - timedelta(hours=1))
        accounts.apply({coder: LimitRefused(limit, 1)}, refused_at)
    pause(fleet.home)
    seen = fleet_status(fleet, NOW)
    assert (seen.running, seen.runs, seen.slots, seen.paused) == (False, 0, 4, True)
    assert dict(seen.cooling) == {"claude": NOW + timedelta(hours=1)}
    assert dict(seen.tasks) == {"open": 1}


def test_pause_and_resume_say_whether_they_changed_anything(fleet):
    """Twice the same is no error."""
    assert [pause(fleet.home), pause(fleet.home), unpause(fleet.home), unpause(fleet.home)] == [
        True,
        False,
        True,
        False,
    ]


def test_a_long_state_keeps_its_distance_from_the_task():
    """The name of a row may be wider than its column."""
    assert row("needs approval", "fleet-a", 12) == "needs approval: fleet-a"
    assert row("queue", "fine", 12) == "queue:      fine"
