"""What the demo shows of a task, and when it ends."""

from datetime import timedelta

import msgspec
import pytest

from fleet.demo.run_demo import JournalTail, due_cues, is_over, state_of
from fleet.demo.script import TASKS
from fleet.demo.summary import DemoRow
from fleet.home import Home
from fleet.home.landing_json import Landing
from fleet.schemas import Blocked, Failed, Finished, RateLimit, RateLimited
from fleet.schemas.waits import Asks, SetAside, ToLand
from tests.builders import NOW, a_task, an_ending

SOON = NOW + timedelta(seconds=3)

CRASHED = an_ending(Failed(reason="killed"), why="killed: Out of memory")
LIMITED = msgspec.structs.replace(
    CRASHED, outcome=RateLimited(limit=RateLimit(kind="five_hour")), why="rate limit (five_hour)"
)
ASKED = msgspec.structs.replace(
    CRASHED,
    outcome=Finished(),
    settlement=Blocked(waits=Asks(text="Both?")),
    why="QUESTION: Both?",
)


TO_LAND = msgspec.structs.replace(
    ASKED, settlement=Blocked(waits=ToLand(into="main")), why="checked"
)


def state(task, *endings, needs=(), landing=None):
    return state_of(task, endings, needs, NOW, landing)


def landing(state, **changes):
    given = {
        "repository": "/p",
        "into": "main",
        "run": 1,
        "base": "b",
        "tree": "t",
        "checked": True,
    }
    return Landing(state=state, at=NOW, **given, **changes)


CONFLICT = landing("back", why_back="conflict", conflict=("README.md",), tries=1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (state(a_task()), ("ready", "")),
        (
            state(a_task(), needs=[a_task(title="Lay out"), a_task(status="closed")]),
            ("waiting", "for: Lay out"),
        ),
        (state(a_task(status="in_progress"), CRASHED), ("running", "")),
        (
            state(a_task(not_before=SOON), CRASHED),
            ("pausing", "3 s, then again: killed: Out of memory"),
        ),
        (state(a_task(not_before=SOON), LIMITED), ("pausing", "3 s until the limit resets")),
        (state(a_task(not_before=SOON)), ("pausing", "3 s: its coder has reached a limit")),
        (state(a_task(not_before=NOW), CRASHED), ("ready", "killed: Out of memory")),
        (state(a_task(status="blocked", waits=Asks(text="Both?")), ASKED), ("asking", "Both?")),
        (
            state(a_task(status="blocked"), TO_LAND, landing=landing("waiting")),
            ("landing", "checked, waits to land on main"),
        ),
        (
            state(a_task(), TO_LAND, landing=CONFLICT),
            ("ready", "sent back: conflict in README.md, 1"),
        ),
        (
            state(a_task(status="in_progress"), TO_LAND, landing=CONFLICT),
            ("running", "sent back: conflict in README.md, 1"),
        ),
        # What a person has to see to is not on its way.
        (
            state(a_task(status="blocked"), TO_LAND, landing=landing("asks")),
            ("blocked", "checked"),
        ),
        (
            state(a_task(status="blocked"), TO_LAND, CRASHED, landing=CONFLICT),
            ("blocked", "killed: Out of memory"),
        ),
        (state(a_task(status="blocked"), CRASHED), ("blocked", "killed: Out of memory")),
        (state(a_task(status="blocked", waits=SetAside(note="by hand"))), ("blocked", "by hand")),
        (
            state(a_task(status="closed", closed_at=NOW, close_reason="Wrote x [run 2]"), CRASHED),
            ("closed", "Wrote x"),
        ),
    ],
)
def test_a_row_says_what_goes_on(given, expected):
    """From the queue's status and the past runs."""
    assert given == expected


def rows(**states):
    """Rows of the named tasks of the demo."""
    tasks = {
        "ready": a_task(),
        "running": a_task(status="in_progress"),
        "blocked": a_task(status="blocked"),
        "asking": a_task(status="blocked", waits=Asks(text="Both?")),
        "landing": a_task(status="blocked"),
        "closed": a_task(status="closed", closed_at=NOW),
    }
    demo_tasks = {task.key: task for task in TASKS}
    made = {}
    for key, named in states.items():
        task = tasks[named]
        needs = [made[need].task for need in demo_tasks[key].needs if need in made]
        last = {"asking": ASKED, "landing": TO_LAND}.get(named)
        way = landing("testing") if named == "landing" else None
        now, what = state(task, *([last] if last else []), needs=needs, landing=way)
        events = 1 if named == "running" else 0
        made[key] = DemoRow(
            demo_task=demo_tasks[key], task=task, state=now, what=what, events=events
        )
    return list(made.values())


@pytest.mark.parametrize(
    ("states", "over"),
    [
        ({"find": "closed"}, True),
        ({"find": "closed", "store": "running"}, False),
        ({"find": "closed", "add": "asking"}, False),
        ({"find": "closed", "add": "landing"}, False),
        ({"find": "closed", "store": "blocked"}, True),
        # What waits for a blocked task waits for ever.
        ({"store": "blocked", "faster": "ready"}, True),
        ({"store": "closed", "faster": "ready"}, False),
    ],
)
def test_it_is_over_when_nothing_more_happens_by_itself(states, over):
    """The demo ends then, whether it went well or not."""
    assert is_over(rows(**states)) is over


@pytest.mark.parametrize(
    ("states", "adopted", "due"),
    [
        ({"lend": "ready", "find": "running", "manual": "running"}, (), set()),
        ({"lend": "running", "find": "running"}, (), {"find"}),
        ({"lend": "running", "find": "landing"}, (), {"find"}),
        ({"lend": "running", "find": "closed"}, ("lend",), {"find", "lend"}),
        ({"manual": "running", "store": "running"}, ("store",), set()),
        ({"manual": "running"}, ("manual",), {"manual"}),
    ],
)
def test_an_agent_goes_on_when_what_it_waits_for_has_come(states, adopted, due):
    """Both of the pair began before either landed, and the run was adopted, on any machine."""
    assert due_cues(rows(**states), adopted) == due


def test_the_journal_tells_each_line_once(tmp_path):
    """Also across days, and when a line is half written."""
    home = Home(tmp_path)
    home.logging.mkdir()
    journal = JournalTail(home)
    first = home.logging / "fleet-2026-11-15.jsonl"
    line = '{"ts":"2026-11-15T10:00:00Z","action":"%s","text":"%s"}\n'
    started, closed = line % ("started", "a"), line % ("closed", "b")
    first.write_text(started + closed[:40])
    assert journal.read() == [("started", "a")]
    with first.open("a") as file:
        file.write(closed[40:])
    (home.logging / "fleet-2026-11-16.jsonl").write_text(line % ("ended", "c"))
    assert journal.read() == [("closed", "b"), ("ended", "c")]
    assert journal.read() == []
