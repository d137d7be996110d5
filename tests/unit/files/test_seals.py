"""Records are believed if a process of fleet's wrote them."""

import os
from datetime import timedelta

import pytest

from fleet.files import seals
from fleet.runs import closed_by_hand
from fleet.runs.outcome_history import (
    FORGIVEN,
    believed_ending,
    forgive,
    history,
    read_ending,
    write_ending,
)
from fleet.schemas import Failed
from tests.builders import NOW, a_run, an_ending


@pytest.fixture
def task_dir(home):
    folder = home.task("fleet-1")
    folder.mkdir(parents=True)
    return folder


def wait_for_a_tick(path):
    """Until a file that is made now is younger, by the clock that the file system goes by."""
    fresh = path.with_name("fresh")
    for _ in range(100_000):
        fresh.write_bytes(b"")
        if fresh.lstat().st_ctime_ns > path.lstat().st_ctime_ns:
            return


def test_a_record_is_believed_as_it_was_written(task_dir):
    """Any other content, and any other run's, is not."""
    record = task_dir / "record"
    record.write_bytes(b"one")
    seals.seal(task_dir, 1, {"record": b"one"})
    assert seals.doubt(task_dir, 1, record, b"one") == ""
    assert "not as fleet wrote it" in seals.doubt(task_dir, 1, record, b"two")
    record.write_bytes(b"one")  # changed since this home seals
    assert "not written by fleet" in seals.doubt(task_dir, 2, record, b"one")


def test_what_is_older_than_the_first_seal_is_believed(task_dir):
    """Runs of an earlier version go on after an upgrade."""
    record = task_dir / "record"
    record.write_bytes(b"one")
    assert seals.doubt(task_dir, 1, record, b"one") == ""
    wait_for_a_tick(record)
    seals.begin(task_dir.parent.parent)
    assert seals.doubt(task_dir, 1, record, b"one") == ""
    os.utime(record, (0, 0))  # no program sets back the time of a change
    assert seals.doubt(task_dir, 1, record, b"one") != ""


def test_damaged_seals_make_every_record_doubtful(task_dir):
    """A pipe in their place is not waited for."""
    seals.seal(task_dir, 1, {"record": b"one"})
    file = task_dir.parent.parent / "seals/fleet-1"
    file.unlink()
    os.mkfifo(file)
    assert "is not a plain file" in seals.doubt(task_dir, 1, task_dir / "record", b"one")


def test_an_ending_that_was_changed_counts_for_nothing(task_dir):
    """It is shown as it is, and decides neither attempts nor what the next run carries on."""
    run = a_run(task_dir)
    write_ending(run, an_ending(Failed(reason="unknown"), attempts=2))
    assert history(task_dir).attempts == 2
    path = run.path / "outcome.json"
    path.write_bytes(path.read_bytes().replace(b'"attempts":2', b'"attempts":0'))
    assert read_ending(run).attempts == 0
    assert believed_ending(run) is None
    assert history(task_dir).last is None


def test_attempts_that_an_agent_forgives_itself_still_count(task_dir):
    """Only `fleet retry` sets the counts back."""
    write_ending(a_run(task_dir), an_ending(Failed(reason="unknown"), attempts=2))
    (task_dir / FORGIVEN).write_text("1\n")
    assert history(task_dir).attempts == 2
    forgive(task_dir)
    assert history(task_dir).attempts == 0


def test_the_mark_of_a_person_is_believed_once(task_dir):
    """A copy of an old mark is as old as the mark."""
    path = task_dir / closed_by_hand.FILE
    path.write_text("2099-01-01T00:00:00+00:00 ada\n")
    seals.begin(task_dir.parent.parent)
    path.write_text("2099-01-01T00:00:00+00:00 ada\n")
    assert not closed_by_hand.noted(task_dir, NOW)
    closed_by_hand.note(task_dir, "ada")
    assert closed_by_hand.noted(task_dir, None)
    copy = path.read_bytes()
    path.write_bytes(copy)
    assert not closed_by_hand.noted(task_dir, NOW + timedelta(days=365 * 100))
