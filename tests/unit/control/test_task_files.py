"""The files of a task: which one is meant, and how much of it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.control.tasks.task_files import (
    Missing,
    document,
    followed,
    last_lines,
    newest_log,
    whole,
)
from fleet.errors import BadInput, NotFound, QueueUnavailable
from tests.builders import a_run


@pytest.fixture
def task_dir(fleet):
    folder = fleet.home.task("fleet-abc")
    (folder / "artifacts").mkdir(parents=True)
    return folder


def test_each_file_is_found_where_its_writer_puts_it(fleet, task_dir):
    """By the whole id or without its prefix, and byte for byte."""
    places = {
        "log": "log.jsonl",
        "plan": "artifacts/PLAN_AND_STATUS.md",
        "knowledge": "artifacts/KNOWLEDGE.md",
        "events": "events.jsonl",
    }
    for what, place in places.items():
        (task_dir / place).write_bytes(what.encode() + b"\x00\xff\r\n")
        for word in ("fleet-abc", "abc"):
            assert b"".join(whole(document(fleet, word, what))) == what.encode() + b"\x00\xff\r\n"


def test_the_files_of_a_task_need_no_queue(fleet, task_dir):
    """Evidence can be read while the queue is broken; only an unknown id has to ask it."""
    (fleet.home.path / "queue.db").write_bytes(b"no database at all" * 100)
    (task_dir / "log.jsonl").write_bytes(b"{}\n")
    assert b"".join(whole(document(fleet, "abc", "log"))) == b"{}\n"
    with pytest.raises(QueueUnavailable):
        document(fleet, "xyz", "log")


def test_a_missing_file_says_who_would_write_it(fleet, task_dir):
    """The reader learns what to wait for."""
    with pytest.raises(Missing, match="has no plan yet") as caught:
        whole(document(fleet, "abc", "plan"))
    assert "The agent writes it" in caught.value.hint
    assert "fleet task fleet-abc events" in caught.value.hint
    assert caught.value.exit_code == 1


def test_stderr_is_that_of_the_latest_run_or_the_one_asked_for(fleet, task_dir):
    """Each run has its own."""
    for text in (b"one", b"two"):
        run = a_run(task_dir)
        run.stderr.write_bytes(text)
    assert b"".join(whole(document(fleet, "abc", "stderr"))) == b"two"
    assert b"".join(whole(document(fleet, "abc", "stderr", 1))) == b"one"
    with pytest.raises(NotFound, match="no run 3") as caught:
        document(fleet, "abc", "stderr", 3)
    assert "1, 2" in caught.value.hint


def test_events_of_one_run_are_picked_from_all(fleet, task_dir):
    """Run 1 is not run 11, wherever a chunk ends."""
    lines = [
        b'{"run":%d,"n":%d,"x":"%s"}\n' % (run, n, b"y" * 900)
        for n in range(200)
        for run in (1, 11)
    ]
    (task_dir / "events.jsonl").write_bytes(b"".join(lines))
    a_run(task_dir)
    found = b"".join(whole(document(fleet, "abc", "events", 1)))
    assert found == b"".join(line for line in lines if line.startswith(b'{"run":1,'))


def test_only_events_and_stderr_belong_to_a_run(fleet, task_dir):
    """A plan is the task's: asking for that of a run is a misunderstanding."""
    a_run(task_dir)
    with pytest.raises(BadInput, match="belongs to the task"):
        document(fleet, "abc", "plan", 1)


def test_following_a_task_that_does_not_run_ends_at_once(fleet, task_dir):
    """There is nothing to wait for."""
    (task_dir / "log.jsonl").write_bytes(b"{}\n")
    assert b"".join(followed(fleet, document(fleet, "abc", "log"))) == b"{}\n"


def test_a_link_is_not_followed(fleet, task_dir, tmp_path):
    """An agent cannot make `fleet task` print another file."""
    (tmp_path / "secret").write_text("secret")
    (task_dir / "artifacts" / "KNOWLEDGE.md").symlink_to(tmp_path / "secret")
    with pytest.raises(Exception, match="cannot be read"):
        list(whole(document(fleet, "abc", "knowledge")))


def test_the_newest_log_is_the_one_written_last(fleet):
    """By its time, not by its name; other files do not count."""
    import os

    with pytest.raises(Missing, match="no supervisor has logged"):
        newest_log(fleet)
    for day, time in ((14, 300), (15, 200), (13, 100)):
        path = fleet.home.logging / f"fleet-2026-11-{day}.jsonl"
        path.write_text("{}\n")
        os.utime(path, (time, time))
    (fleet.home.logging / "other.jsonl").write_text("{}\n")
    assert newest_log(fleet).name == "fleet-2026-11-14.jsonl"


@given(
    lines=st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=20),
    ended=st.booleans(),
    count=st.integers(min_value=1, max_value=25),
)
def test_the_last_lines_are_those_of_the_whole_file(tmp_path_factory, lines, ended, count):
    """Read from the end, with or without a newline there, they are what tail prints."""
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    path = tmp_path_factory.mktemp("log") / "file"
    path.write_bytes(data)
    expected = b"".join(data.replace(b"\r", b"\x01").splitlines(keepends=True)[-count:])
    assert last_lines(path, count).replace(b"\r", b"\x01") == expected


def test_the_last_lines_of_a_large_file_are_read_from_its_end(tmp_path):
    """Lines longer than one reading step are whole."""
    path = tmp_path / "log"
    path.write_bytes(b"".join(b"%d" % n * 30_000 + b"\n" for n in range(10)))
    assert last_lines(path, 3) == b"".join(b"%d" % n * 30_000 + b"\n" for n in (7, 8, 9))
