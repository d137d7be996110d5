"""What the demo shows of a task, and when it takes the play for over."""

from datetime import timedelta

import msgspec
import pytest

from fleet.demo.progress import STARTS, Journal, is_over, row_of
from fleet.demo.script import SCENES
from fleet.home import Home
from fleet.runs.outcome_history import Ending
from fleet.schemas import Blocked, Failed, Finished, RateLimit, RateLimited, Released
from tests.tasks import a_task

NOW = a_task().created_at
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


def seen(task, *endings, needs=(), words=""):
    row = row_of(SCENES[0], task, endings, needs, words=words, now=NOW)
    return row.state, row.what


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (seen(a_task()), ("ready", "")),
        (
            seen(a_task(), needs=[a_task(title="Lay out"), a_task(status="closed")]),
            ("waiting", "for: Lay out"),
        ),
        (seen(a_task(status="in_progress")), ("running", STARTS)),
        (seen(a_task(status="in_progress"), CRASHED, words="Write x"), ("running", "Write x")),
        (
            seen(a_task(not_before=SOON), CRASHED),
            ("pausing", "3 s, then again: killed: Out of memory"),
        ),
        (seen(a_task(not_before=SOON), LIMITED), ("pausing", "3 s until the limit resets")),
        (seen(a_task(not_before=SOON)), ("pausing", "3 s: its coder has reached a limit")),
        (seen(a_task(not_before=NOW), CRASHED), ("ready", "killed: Out of memory")),
        (seen(a_task(status="blocked"), ASKED), ("asking", "Both?")),
        (seen(a_task(status="blocked"), CRASHED), ("blocked", "killed: Out of memory")),
        (seen(a_task(status="blocked", notes="by hand")), ("blocked", "by hand")),
        (
            seen(a_task(status="closed", closed_at=NOW, close_reason="Wrote x [run 2]"), CRASHED),
            ("closed", "Wrote x"),
        ),
    ],
)
def test_a_row_says_what_goes_on(given, expected):
    """From the queue's status, the past runs and the agent's last words."""
    assert given == expected


def rows(**states):
    """Rows of the play's own scenes, as far as named; the rest is left out."""
    tasks = {
        "ready": a_task(),
        "running": a_task(status="in_progress"),
        "blocked": a_task(status="blocked"),
        "asking": a_task(status="blocked"),
        "closed": a_task(status="closed", closed_at=NOW),
    }
    scenes = {scene.key: scene for scene in SCENES}
    made = {}
    for key, state in states.items():
        task = tasks[state]
        needs = [made[need].task for need in scenes[key].needs if need in made]
        endings = [ASKED] if state == "asking" else []
        made[key] = row_of(scenes[key], task, endings, needs, words="", now=NOW)
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
    journal = Journal(home)
    first = home.logging / "fleet-2026-11-15.jsonl"
    first.write_text('{"action":"started","text":"a"}\n{"action":"cl')
    assert journal.news() == [("started", "a")]
    with first.open("a") as file:
        file.write('osed","text":"b"}\n')
    (home.logging / "fleet-2026-11-16.jsonl").write_text('{"action":"ended","text":"c"}\n')
    assert journal.news() == [("closed", "b"), ("ended", "c")]
    assert journal.news() == []
