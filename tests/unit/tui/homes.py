"""A home as the full-screen view is given it, without a queue."""

from datetime import timedelta

from fleet.control.view.now import GroupCounts, Now, RunNow, SupervisorNow, TaskRow
from fleet.schemas import Spend
from fleet.schemas.task_state import WayOn
from tests.builders import NOW

MINUTE = timedelta(minutes=1)


def a_row(**fields) -> TaskRow:
    whole = {
        "id": "fleet-x4f",
        "title": "Fix the login page",
        "group": "waiting",
        "status": "open",
        "project": "/srv/web",
        "directory": "/srv/web",
        "coder": "claude",
        "model": "sonnet",
        "created_at": NOW - 60 * MINUTE,
        "since": NOW - 20 * MINUTE,
    }
    return TaskRow(**whole | fields)


def a_running(**fields) -> TaskRow:
    run = RunNow(
        number=2, doing="running", started_at=NOW - 12 * MINUTE, last_event_at=NOW,
        last_step="Bash: pytest -q tests/test_login.py", context_tokens=61_400, context_peak=90_000,
        context_window=200_000, events=214, tool_calls=31,
        spent=Spend(runs=1, tokens=80_000, usd=0.41),
    )  # fmt: skip
    whole = {"state": "running", "group": "running", "status": "in_progress", "run": run} | fields
    return a_row(**whole)


def a_question(**fields) -> TaskRow:
    whole = {
        "id": "fleet-5oz",
        "title": "Add a book",
        "state": "asks",
        "group": "needs_you",
        "status": "blocked",
        "question": "When a book is added twice: keep both, or refuse one?\n\nI would refuse.",
        "reason": "QUESTION",
        "way_on": WayOn(verb="answer", line='fleet answer fleet-5oz "…"'),
    }
    return a_row(**whole | fields)


ROWS = (
    a_question(),
    a_row(
        id="fleet-5es", title="Make it faster", state="failed", group="needs_you", status="blocked",
        reason="finished without closing the task (attempt 2 of 2)",
        way_on=WayOn(verb="retry", line="fleet retry fleet-5es"),
    ),
    a_running(),
    a_running(
        id="fleet-9kc.2", title="Port the parser from the old tree to the new one, with its tests",
        coder="codex", reason="waits for a limit until 14:20",
    ),
    a_row(
        id="fleet-t3v", title="Release 1.0", state="waiting",
        reason="waits for fleet-x4f (in progress)",
    ),
    a_row(
        id="fleet-ai7", title="Export to CSV", state="waiting",
        reason="account work: five_hour at 92 %",
        until=NOW + 140 * MINUTE, way_on=WayOn(verb="retry", line="fleet retry fleet-ai7"),
    ),
    a_row(
        id="fleet-1z3", title="Keep the books in a file", state="landed", group="done",
        status="closed", verdict="checked", landing_words="landed on main as 0730f99",
        spent=Spend(runs=2, tokens=9000, usd=0.2, estimated_usd=0.2),
    ),
    a_row(
        id="fleet-qfi", title="Lend a book", state="done", group="done", status="closed",
        verdict="unchecked", spent=Spend(runs=1, unpriced=1),
    ),
)  # fmt: skip


def a_now(rows=ROWS, *, as_of=NOW, **fields) -> Now:
    """A home with these tasks and a living supervisor."""
    living = SupervisorNow(
        alive=True, pid=7, since=as_of - 130 * MINUTE, version="1", runs=2, slots=4
    )
    groups = [row.group for row in rows]
    counts = {name: groups.count(name) for name in ("needs_you", "running", "waiting", "done")}
    whole = {
        "as_of": as_of, "home": "/home/ada/.fleet", "queue": "embedded", "supervisor": living,
        "counts": GroupCounts(**counts), "done_since": as_of - 24 * 60 * MINUTE, "rows": rows,
    }  # fmt: skip
    return Now(**whole | fields)
