"""What the demo of hosts says at its end."""

import pytest
from msgspec import structs

from fleet.demo.script import CUT_OFF, HOST_TASKS, NOWHERE
from fleet.demo.summary import DemoRow, HostsReport, deviations, summary
from tests.builders import a_task


def row(task, **facts):
    status = "open" if task.key == NOWHERE else "closed"
    hosts = ("beta", "gamma") if task.key == CUT_OFF else ("alpha",)
    made = a_task(id=f"fleet-{task.key}", title=task.title, status=status)
    state = "ready" if task.key == NOWHERE else "closed"
    known = {"task": made, "state": state, "hosts": () if task.key == NOWHERE else hosts}
    return DemoRow(demo_task=task, **{**known, **facts})


REPORT = HostsReport(
    rows=tuple(map(row, HOST_TASKS)), cut="beta", dead_after=14.0, begun_after=24.0, seconds=65.0
)


def test_what_went_as_staged_is_said_so_with_every_task():
    """A person sees where each task ran, and what the cut link cost."""
    text = "\n".join(line for line, _ in summary(REPORT))
    assert deviations(REPORT) == []
    assert "closed, on beta → gamma" in text
    assert "dead 14 s later, and the next one began\n        24 s after the cut" in text
    assert "All went as staged, in 65 s" in text


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"begun_after": 3.0}, "two agents worked on one task at once"),
        ({"begun_after": None}, "did not move"),
        ({"cut": ""}, "no link was cut"),
        ({"trouble": "not over after 420 s"}, "not over after 420 s"),
        ({"rows": REPORT.rows[1:]}, "Print the catalogue: never made"),
    ],
)
def test_what_did_not_is_told(facts, words):
    """The exit code follows from it."""
    report = structs.replace(REPORT, **facts)
    assert any(words in each for each in deviations(report))
    assert any("Not as staged" in line for line, _ in summary(report))


def test_a_task_that_no_host_fits_must_wait_and_not_be_blocked():
    """That is what the demo shows of it."""
    last = REPORT.rows[-1]
    blocked = structs.replace(last, task=structs.replace(last.task, status="blocked"))
    report = structs.replace(REPORT, rows=(*REPORT.rows[:-1], blocked))
    assert "blocked, not open" in deviations(report)[0]
