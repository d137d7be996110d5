"""What the demo shows of a task, and when it ends."""

from datetime import timedelta

import msgspec
import pytest

from fleet.demo.run_demo import STARTS, JournalTail, is_over, row_of
from fleet.demo.script import TASKS
from fleet.home import Home
from fleet.runs.outcome_history import Ending
from fleet.schemas import Blocked, Failed, Finished, RateLimit, RateLimited, Released
from tests.builders import NOW, a_task

SOON = NOW + timedelta(seconds=3)

CRASHED = Ending(
    outcome=Failed(reason="killed"),
    settlement=Released(),
    counts=True,
    why="killed: Out of memory",
    progress=False,
    at=NOW,
)
LIMITED = msgspec.structs.replace(
    CRASHED, outcome=RateLimited(limit=RateLimit(kind="five_hour")), why="rate limit (five_hour)"
)
ASKED = msgspec.structs.replace(
    CRASHED, outcome=Finished(), settlement=Blocked(note="…"), why="QUESTION: Both?"
)


def state_of(task, *endings, needs=(), doing=""):
    row = row_of(TASKS[0], task, endings, needs, doing=doing, now=NOW)
    return row.state, row.what


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (state_of(a_task()), ("ready", "")),
        (
            state_of(a_task(), needs=[a_task(title="Lay out"), a_task(status="closed")]),
            ("waiting", "for: Lay out"),
        ),
        (state_of(a_task(status="in_progress")), ("running", STARTS)),
        (state_of(a_task(status="in_progress"), CRASHED, doing="Write x"), ("running", "Write x")),
        (
            state_of(a_task(not_before=SOON), CRASHED),
            ("pausing", "3 s, then again: killed: Out of memory"),
        ),
        (state_of(a_task(not_before=SOON), LIMITED), ("pausing", "3 s until the limit resets")),
        (state_of(a_task(not_before=SOON)), ("pausing", "3 s: its coder has reached a limit")),
        (state_of(a_task(not_before=NOW), CRASHED), ("ready", "killed: Out of memory")),
        (state_of(a_task(status="blocked"), ASKED), ("asking", "Both?")),
        (state_of(a_task(status="blocked"), CRASHED), ("blocked", "killed: Out of memory")),
        (state_of(a_task(status="blocked", notes="by hand")), ("blocked", "by hand")),
        (
            state_of(
                a_task(status="closed", closed_at=NOW, close_reason="Wrote x [run 2]"), CRASHED
            ),
            ("closed", "Wrote x"),
        ),
    ],
)
def test_a_row_says_what_goes_on(given, expected):
    """From the queue's status, the past runs and the agent's last step."""
    assert given == expected


def rows(**states):
    """Rows of the named tasks of the demo."""
    tasks = {
        "ready": a_task(),
        "running": a_task(status="in_progress"),
        "blocked": a_task(status="blocked"),
        "asking": a_task(status="blocked"),
        "closed": a_task(status="closed", closed_at=NOW),
    }
    demo_tasks = {task.key: task for task in TASKS}
    made = {}
    for key, state in states.items():
        task = tasks[state]
        needs = [made[need].task for need in demo_tasks[key].needs if need in made]
        endings = [ASKED] if state == "asking" else []
        made[key] = row_of(demo_tasks[key], task, endings, needs, doing="", now=NOW)
    return list(made.values())


@pytest.mark.parametrize(
    ("states", "over"),
    [
        ({"layout": "closed"}, True),
        ({"layout": "closed", "store": "running"}, False),
        ({"layout": "closed", "add": "asking"}, False),
        ({"layout": "closed", "store": "blocked"}, True),
        # What waits for a blocked task, and what waits for that, waits for ever.
        ({"layout": "blocked", "store": "ready", "faster": "ready"}, True),
        ({"layout": "closed", "store": "ready"}, False),
    ],
)
def test_it_is_over_when_nothing_more_happens_by_itself(states, over):
    """The demo ends then, whether it went well or not."""
    assert is_over(rows(**states)) is over


def test_the_journal_tells_each_line_once(tmp_path):
    """Also across days, and when a line is half written."""
    home = Home(tmp_path)
    home.logging.mkdir()
    journal = JournalTail(home)
    first = home.logging / "fleet-2026-11-15.jsonl"
    first.write_text('{"action":"started","text":"a"}\n{"action":"cl')
    assert journal.read() == [("started", "a")]
    with first.open("a") as file:
        file.write('osed","text":"b"}\n')
    (home.logging / "fleet-2026-11-16.jsonl").write_text('{"action":"ended","text":"c"}\n')
    assert journal.read() == [("closed", "b"), ("ended", "c")]
    assert journal.read() == []
