"""The streams of a run: every line one event, however often its reader dies."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.coders.base import Coder
from fleet.runs import event_log
from fleet.schemas import Event
from fleet.settlement.run_record import RunRecord
from tests.builders import NOW, a_run, a_task


class TwoStreams(Coder):
    """Prints its session, and writes a second file about it."""

    name = "two"
    context_limit = 1000

    def build_argv(self, task, task_dir):
        return ["true"]

    def normalize_event(self, raw_line):
        return Event(kind="assistant_text", text=raw_line, session_id="s")

    def second_stream(self, session_id, env):
        return Path(env["FOLDER"]), f"*{session_id}.jsonl"

    def normalize_second(self, raw_line):
        return Event(kind="thinking", text=raw_line)


def a_stream(run, coder=None, *, adopted=False):
    env = {"FOLDER": str(run.path)}
    record = RunRecord(
        a_task(), run, coder or TwoStreams(), env=env, spec=run.spec(), adopted=adopted
    )
    return record.stream


def texts(run, kind):
    path = run.task_dir / "events.jsonl"
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    return [line["text"] for line in lines if line["kind"] == kind]


@given(some.data())
def test_no_event_is_lost_or_doubled_when_the_reader_is_replaced(tmp_path_factory, data):
    """Two streams grow, are read in pieces, and the reader is replaced again and again."""
    run = a_run(tmp_path_factory.mktemp("task"))
    stream = a_stream(run)
    printed = {"stdout": [], "log-s.jsonl": []}
    steps = some.sampled_from(["stdout", "log-s.jsonl", "read", "die", "note", "cut"])
    for number, step in enumerate(data.draw(some.lists(steps, max_size=40))):
        if step == "read":
            stream.read(NOW + timedelta(seconds=number * 2))
        elif step in ("die", "cut"):
            if step == "cut":
                with (run.task_dir / "events.jsonl").open("ab") as file:
                    file.write(b'{"run":1,"at":[1')
            stream = a_stream(run, adopted=True)
        elif step == "note":
            stream.note("fleet_adopted", NOW)
        else:
            printed[step].append(str(number))
            with (run.path / step).open("ab") as file:
                file.write(f"{number}\n".encode())
    stream.read(NOW + timedelta(minutes=5))
    stream.finish(NOW + timedelta(minutes=5))
    assert texts(run, "assistant_text") == printed["stdout"]
    if printed["stdout"]:  # only then the session, and with it the second file, is known
        assert texts(run, "thinking") == printed["log-s.jsonl"]


def test_it_says_that_there_is_more(tmp_path):
    """One look reads a helping; the rest is not forgotten until the stream grows again."""
    run = a_run(tmp_path)
    run.stdout.write_bytes((b"y" * 999 + b"\n") * 3000)
    stream = a_stream(run)
    looks = 0
    while stream.behind:
        stream.read(NOW)
        looks += 1
    assert looks > 1
    assert stream.totals.events == 3000


def test_an_agent_that_replaces_its_stream_blinds_only_us(tmp_path):
    """A link where stdout was: nothing more is read, and nothing breaks or spins."""
    run = a_run(tmp_path)
    run.stdout.symlink_to("/dev/zero")
    stream = a_stream(run)
    stream.read(NOW)
    assert not stream.behind
    assert "stdout" in stream.trouble
    stream.finish(NOW)


def test_a_full_disk_costs_events_and_no_more(tmp_path, monkeypatch):
    """What the run did is still known."""
    run = a_run(tmp_path)
    run.stdout.write_text("one\ntwo\n")

    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(event_log, "add", full)
    stream = a_stream(run)
    stream.read(NOW)
    assert stream.totals.events == 2


class Wild(TwoStreams):
    """Gives what no event may hold."""

    def normalize_event(self, raw_line):
        return Event(kind="usage", tokens={"input": 1}, calls=(1, 2), text=raw_line)


def test_a_coder_that_fills_in_nonsense_is_survived(tmp_path):
    """Its events are bad ones."""
    run = a_run(tmp_path)
    run.stdout.write_text("one\n")
    stream = a_stream(run, Wild())
    stream.read(NOW)
    assert stream.totals.kinds["bad"] == 1


@pytest.mark.parametrize("last", ["", "half a line"])
def test_a_last_line_without_its_end_counts_once(tmp_path, last):
    """It is read when the run is over, by one reader only."""
    run = a_run(tmp_path)
    run.stdout.write_text(f"whole\n{last}")
    for adopted in (False, True):
        a_stream(run, adopted=adopted).finish(NOW)
    assert texts(run, "assistant_text") == ["whole", *([last] if last else [])]
