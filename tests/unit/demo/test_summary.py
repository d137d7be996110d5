"""The end of the demo: honest about what worked and what did not."""

from typing import get_args

import pytest
from msgspec import structs

from fleet.cli.demo import Screen, demo_table
from fleet.demo.script import TASKS
from fleet.demo.summary import DemoReport, DemoRow, RowState, deviations, next_steps, summary
from fleet.schemas import (
    Blocked,
    ContextFull,
    Failed,
    Finished,
    Lost,
    RateLimit,
    RateLimited,
    Released,
)
from fleet.schemas.waits import SetAside, ToLand
from tests.builders import NOW, a_task, an_ending

SETTLEMENTS = {
    "To land": Blocked(waits=ToLand(into="main")),
    "Released": Released(),
    "Blocked": Blocked(waits=SetAside(note="…")),
}
OUTCOMES = {
    "killed": Failed(reason="killed"),
    "rate limit": RateLimited(limit=RateLimit(kind="five_hour")),
    "context full": ContextFull(),
}


def ending(end):
    outcome = OUTCOMES.get(end.cause, Finished())
    return an_ending(outcome, SETTLEMENTS[end.settlement], why=f"{end.cause}: and so on")


LANDED = "all 8 files were there (Commands: find, lend) [run 1] [landed on main as 0123456789ab]"
BACK = "sent back to its agent (try 1): it conflicts with main in README.md"


def row(demo_task, number):
    closed = demo_task.ends[-1].settlement == "To land"
    task = a_task(
        id=f"fleet-{number}",
        title=demo_task.title,
        status="closed" if closed else "blocked",
        closed_at=NOW if closed else None,
        close_reason=LANDED if closed else "",
        notes=f"{BACK}\n" if demo_task.goes_back else "",
        priority=demo_task.priority,
    )
    first, *more = [ending(end) for end in demo_task.ends]
    endings = (first, *(structs.replace(each, resumed=demo_task.goes_back) for each in more))
    return DemoRow(
        demo_task=demo_task, task=task, state=task.status, what="w" * 200, endings=endings
    )


AS_STAGED = DemoReport(
    rows=tuple(row(demo_task, number) for number, demo_task in enumerate(TASKS)),
    log=(
        ("adopted", "fleet-3: adopted run 1"),
        ("released", "fleet-6: released: simulated2 waits for its limit to reset"),
    ),
    commits=("abc1234 Find a book",),
    seconds=14.2,
    killed=True,
)


def but(key, **changes):
    """The same report with one row changed."""
    rows = [structs.replace(r, **changes) if r.demo_task.key == key else r for r in AS_STAGED.rows]
    return structs.replace(AS_STAGED, rows=tuple(rows))


def of(key):
    return next(row for row in AS_STAGED.rows if row.demo_task.key == key)


def text(report):
    return "\n".join(line for line, _ in summary(report))


def test_a_play_that_went_as_staged_has_no_deviation():
    """Exit code 0 means just this."""
    assert deviations(AS_STAGED) == []
    assert "All went as staged, in 14 s: 8 of 9 tasks have landed" in text(AS_STAGED)


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (structs.replace(AS_STAGED, trouble="the supervisor ended: x"), "the supervisor ended: x"),
        (structs.replace(AS_STAGED, killed=False), "the supervisor was not killed"),
        (structs.replace(AS_STAGED, rows=AS_STAGED.rows[1:]), "Lend a book: never made"),
        (but("store", endings=of("store").endings[1:]), "1 runs instead of 2"),
        (but("store", endings=of("store").endings[::-1]), "run 1 should have been released killed"),
        (but("add", endings=of("store").endings), "should have been blocked question, and was: k"),
        (but("find", task=a_task(status="blocked")), "is blocked instead of closed"),
        (but("find", task=a_task(status="closed", closed_at=NOW)), "closed and has not landed"),
        (but("find", task=of("lend").task), "should not have been sent back: it conflicts"),
        (but("lend", task=of("find").task), "should have been sent back: its work landed at once"),
        (but("faster", task=a_task(status="open")), "is open instead of blocked"),
    ],
)
def test_what_deviates_is_named(report, why):
    """Exit code 1, and the summary says in what."""
    assert any(why in each for each in deviations(report)), deviations(report)
    assert "Not as staged" in text(report)
    assert why in text(report)


def test_each_trouble_stands_with_its_cause_and_what_was_done_about_it():
    """That is what a newcomer is here to see."""
    told = text(AS_STAGED)
    for demo_task in TASKS:
        for end in demo_task.ends:
            assert end.cause in told
    for remedy in (
        "tried again after a pause", "until fleet answer", "a fresh one went on from its notes",
        "waited until the limit had reset", "a person has to look", "adopted one in mid-work",
        "no agent was started before the limit had reset",
        "done, and it conflicts with main in README.md",
        "went back to its agent with the merge begun",
        "began from main, where all 8 files were there",
        "landed on main as 0123456",
    ):  # fmt: skip
        assert remedy in told


def test_a_run_that_was_to_start_when_the_supervisor_was_killed_is_told_and_no_deviation():
    """Whether there is one depends on the machine; fleet begins it anew and counts no attempt."""
    unstarted = structs.replace(
        an_ending(Lost(why="it never started"), Released(), why="it never started"), never_started=1
    )
    crashed, closed = of("store").endings
    report = but("store", endings=(crashed, unstarted, closed))
    assert deviations(report) == []
    assert "run 2: it never started" in text(report)
    assert "the next one began anew, no attempt was lost" in text(report)


@pytest.mark.parametrize("resumed", [True, False])
def test_a_merge_is_told_with_the_session_that_finished_it(resumed):
    """The same one, where the coder can carry a session on."""
    first, second = of("lend").endings
    again = structs.replace(second, resumed=resumed)
    words = "the same session finished" if resumed else "a fresh session finished"
    assert words in text(but("lend", endings=(first, again)))


@pytest.mark.parametrize(("adopted", "words"), [(0, "how they had ended"), (2, "adopted 2 of")])
def test_the_killed_supervisor_is_told_as_it_was(adopted, words):
    """On a slow machine all agents may have ended before the new one came."""
    said = (("adopted", "x: adopted run 1"),) * adopted
    assert words in text(structs.replace(AS_STAGED, log=said))


def test_the_next_steps_work_where_fleet_is_not_on_the_path():
    """After `make demo` it lies in .venv/bin."""
    steps = [line for line, _ in next_steps("$PWD/.venv/bin")]
    assert any('export PATH="$PWD/.venv/bin:$PATH"' in step for step in steps)
    assert not any("export" in step for step, _ in next_steps(""))


def test_the_table_has_a_line_for_each_task():
    """However long the words are: the terminal cuts them."""
    lines = list(demo_table(AS_STAGED.rows))
    assert len(lines) == 1 + len(TASKS)
    assert "Make it faster" in lines[-2]
    assert "blocked" in lines[-2]


def test_without_a_terminal_the_demo_prints_plain_lines(capsys):
    """A log file holds no cursor movements."""
    screen = Screen(None, demo_table)
    screen.show(AS_STAGED.rows)
    screen.say("  3.2 s  fleet-1 Keep the books: closed: by its agent", "bold")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "  3.2 s  fleet-1 Keep the books: closed: by its agent\n" in out


def test_every_state_can_be_shown_in_colour(monkeypatch):
    """On a terminal that shows colours, each state has one that there is."""
    monkeypatch.setattr("fleet.cli.terminal_text.wants_colour", lambda: True)
    for state in get_args(RowState):
        (line,) = list(demo_table([structs.replace(of("find"), state=state)]))[1:]
        assert state in line


def test_a_line_that_is_too_long_is_cut_with_a_sign(monkeypatch):
    """A terminal alone would show the last letter of the line in its last column."""
    monkeypatch.setenv("COLUMNS", "80")
    drawn = []
    screen = Screen(drawn.append, demo_table)
    screen.show(AS_STAGED.rows)
    screen.say("  3.2 s  " + "w" * 200, "")
    assert {len(line) for line in drawn[-1] if "www" in line} == {80}
    assert all(line.endswith("…") for line in drawn[-1] if "www" in line)


def test_a_terminal_shows_the_tasks_and_the_last_lines_of_the_log(monkeypatch):
    """The newest line is on the screen however small that is."""
    monkeypatch.setenv("LINES", "14")
    drawn = []
    screen = Screen(drawn.append, demo_table)
    screen.show(AS_STAGED.rows)
    for number in range(20):
        screen.say(f"line {number}", "")
    last = "\n".join(drawn[-1])
    assert "Lend a book" in last
    assert "line 19" in last
    assert "line 16" not in last
