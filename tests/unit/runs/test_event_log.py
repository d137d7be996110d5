"""events.jsonl: each event once, whichever process reads the streams and whenever it is killed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.runs import event_log
from fleet.schemas import Event
from tests.builders import NOW, a_run


@pytest.fixture
def run(tmp_path):
    return a_run(tmp_path)


def write(run, *lines):
    for line in lines:
        assert event_log.add(run.task_dir, line)


def line(run, at, text=""):
    return line_of(Event(kind="assistant_text", ts=NOW, text=text), run.number, at)


def line_of(event, number, at):
    lines = bytearray()
    event_log.put_line(lines, event, number, at)
    return bytes(lines)


def test_a_line_tells_run_place_and_event(run):
    """And not the raw line, which is in the run's stdout."""
    event = Event(kind="tool_use", raw={"big": "x" * 9}, ts=NOW, text="y" * 9000)
    told = json.loads(line_of(event, 3, (120, 7)))
    assert (told["run"], told["at"], told["kind"]) == (3, [120, 7], "tool_use")
    assert len(told["text"]) == 4000
    assert "raw" not in told


@pytest.mark.parametrize("usage", [{"a": object()}, {"a": "\ud800"}])
def test_an_event_that_cannot_be_written_is_told_as_bad(usage):
    """A plugin may put anything into an event."""
    lines = bytearray(line_of(Event(kind="other", ts=NOW), 1, (1, 0)))
    event_log.put_line(lines, Event(kind="usage", ts=NOW, usage=usage), 1, (2, 0))
    event_log.put_line(lines, Event(kind="thinking", ts=NOW), 1, (3, 0))
    before, told, behind = map(json.loads, lines.splitlines())
    assert (before["kind"], told["kind"], behind["kind"]) == ("other", "bad", "thinking")
    assert "usage" in told["text"]


def test_the_last_line_says_how_far_it_is_written(run):
    """Lines of fleet's own in between say nothing of that."""
    assert event_log.written(run) == (0, 0)
    note = event_log.note_of("fleet_started", run.number, {"ts": NOW})
    write(run, note, line(run, (10, 0)), line(run, (10, 5)), note)
    assert event_log.written(run) == (10, 5)


def test_an_earlier_run_says_nothing_of_a_later_one(run):
    """Each run has its own streams."""
    write(run, line(run, (10, 5)))
    later = a_run(run.task_dir)
    assert event_log.written(later) == (0, 0)
    write(run, event_log.note_of("fleet_started", later.number, {"ts": NOW}))
    assert event_log.written(later) == (0, 0)


@given(some.data())
def test_a_file_that_was_cut_anywhere_is_mended(tmp_path_factory, data):
    """What is left of a line is cut off, and the whole lines before it count."""
    run = a_run(tmp_path_factory.mktemp("task"))
    texts = data.draw(some.lists(some.sampled_from(["", "x" * 70_000, "é" * 40]), max_size=4))
    lines = [line(run, (at, 0), text) for at, text in enumerate(texts, 1)]
    whole = b"".join(lines)
    cut = data.draw(some.integers(0, len(whole)))
    path = run.task_dir / event_log.FILE
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    assert event_log.written(run) == (kept, 0)
    assert path.read_bytes() == b"".join(lines[:kept])


def test_the_last_note_is_known(run):
    """So that an end is noted once."""
    assert not event_log.ends_with(run, "fleet_ended")
    write(run, line(run, (1, 0)), event_log.note_of("fleet_ended", run.number, {"ts": NOW}))
    assert event_log.ends_with(run, "fleet_ended")
    assert not event_log.ends_with(run, "fleet_started")


def test_a_file_of_its_full_size_takes_no_more(run, monkeypatch):
    """An agent cannot fill the disk through fleet."""
    monkeypatch.setattr(event_log, "LARGEST", 10)
    assert event_log.add(run.task_dir, b"x" * 10)
    assert not event_log.add(run.task_dir, b"y")
    assert (run.task_dir / event_log.FILE).read_bytes() == b"x" * 10
