"""The timeline of a night: slots, waits, and what kept fleet from working."""

from datetime import timedelta

import msgspec
import pytest
from msgspec import structs

from fleet.control.view.timeline import Segment, lanes_of, limits, read_timeline, waits_of
from fleet.errors import BadInput
from fleet.queue.protocol import Draft
from fleet.runs.outcome_history import write_ending
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import RateLimit, RateLimited
from fleet.schemas.outcome import named
from tests.builders import HOUR, NOW, a_task, an_ending


def ran(task, start, end):
    return Segment(
        task_id=task, kind="run", start=NOW + start * HOUR,
        end=None if end is None else NOW + end * HOUR, why="it was cut off",
    )  # fmt: skip


def test_runs_share_a_lane_only_one_after_the_other():
    """So a lane is a slot; a run that goes on keeps its own."""
    lanes = lanes_of([ran("a", 0, 2), ran("b", 1, None), ran("c", 2, 3), ran("d", 2.5, 4)])
    assert [[each.task_id for each in lane.segments] for lane in lanes] == [
        ["a", "c"],
        ["b"],
        ["d"],
    ]


def test_a_wait_is_what_lies_before_a_run():
    """Since the task was made, or since its run before; with the reason of that run's end."""
    task = a_task(id="a", created_at=NOW - 10 * HOUR)
    found = list(waits_of([ran("a", 0, 1), ran("a", 3, 4)], {"a": task}, NOW - HOUR))
    assert [(each.start, each.end, each.why) for each in found] == [
        (NOW - HOUR, NOW, ""),
        (NOW + HOUR, NOW + 3 * HOUR, "it was cut off"),
    ]


def log(fleet, *lines, day=NOW):
    text = b"\n".join(
        msgspec.json.encode({"ts": NOW + at * HOUR, "action": action, "text": action})
        for at, action in lines
    )
    (fleet.home.logging / f"fleet-{day:%F}.jsonl").write_bytes(text + b"\n")


def bands(fleet, kind):
    found = read_timeline(fleet, NOW, NOW + 10 * HOUR, NOW + 10 * HOUR)
    return [
        ((each.start - NOW) / HOUR, each.end and (each.end - NOW) / HOUR)
        for each in found.bands
        if each.kind == kind
    ]


@pytest.mark.parametrize(
    ("limit", "kind"), [("outage", "vendor"), ("overload", "vendor"), ("five_hour", "account")]
)
def test_an_outage_of_the_vendor_is_no_limit_of_the_account(fleet, limit, kind):
    """A person raised a limit that nobody had reached."""
    task = fleet.queue.add(Draft(title="t"))
    run = new_run(fleet.home.task(task.id), RunSpec(argv=("true",), cwd="/", coder="claude"))
    refused = RateLimited(limit=RateLimit(kind=limit, resets_at=NOW + 2 * HOUR))
    write_ending(run, an_ending(refused, at=NOW + HOUR, coder="claude"))
    segment = structs.replace(ran(task.id, 0, 1), outcome=named(refused))
    (band,) = limits([(segment, run)], NOW, NOW + 10 * HOUR)
    assert (band.kind, band.name, band.why) == (kind, "claude", limit)


def test_the_time_without_a_supervisor_is_a_band(fleet):
    """Before the first, between two, and since the last ended; a killed one by its last line."""
    log(fleet, (-24, "started"), (-23, "ended"), day=NOW - 24 * HOUR)
    log(fleet, (1, "started"), (2, "ended"), (3, "started"), (4, "run_started"), (6, "started"))
    assert bands(fleet, "supervisor") == [(0, 1), (2, 3), (4, 6), (6, 10)]


def test_the_time_before_a_home_was_there_lacked_no_supervisor(fleet):
    """The first line of its log is the first that is known of it."""
    assert bands(fleet, "supervisor") == []
    log(fleet, (2, "started"), (3, "ended"))
    assert bands(fleet, "supervisor") == [(3, 10)]


def test_a_pause_lasts_until_the_next_run(fleet):
    """As the log tells it."""
    log(fleet, (1, "started"), (2, "paused"), (5, "run_started"))
    assert bands(fleet, "paused") == [(2, 5)]


@pytest.mark.parametrize("length", [timedelta(0), -HOUR, timedelta(days=30)])
def test_a_stretch_that_makes_no_sense_is_refused(fleet, length):
    """And one that is too long to draw."""
    with pytest.raises(BadInput):
        read_timeline(fleet, NOW, NOW + length, NOW)
