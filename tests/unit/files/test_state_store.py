"""A file that several processes change by events: no change is lost, and damage is no trouble."""

import errno
import os

import pytest

from fleet.files import json_record
from fleet.files.state_store import StateStore
from tests.builders import NOW


def after(state, event, now):
    return state + event


def a_store(home, **more):
    return StateStore(home / "counts.json", dict[str, int], after=after, empty=0, **more)


def test_a_change_is_kept_and_told_as_before_and_after(tmp_path):
    """Another process reads it from the file."""
    store = a_store(tmp_path)
    assert store.apply({"a": 2, "b": 3, "c": 0}, NOW) == {"a": (0, 2), "b": (0, 3)}
    assert a_store(tmp_path).states == {"a": 2, "b": 3}


def test_an_event_that_changes_nothing_writes_nothing(tmp_path):
    """Neither the file nor its lock."""
    assert a_store(tmp_path).apply({"a": 0}, NOW) == {}
    assert list(tmp_path.iterdir()) == []


def test_an_empty_state_is_not_kept(tmp_path):
    """The file does not grow with every name that was ever heard."""
    store = a_store(tmp_path)
    store.apply({"a": 1, "b": 1}, NOW)
    store.apply({"a": -1}, NOW)
    assert (tmp_path / "counts.json").read_text() == '{"b":1}\n'


def test_what_another_process_wrote_is_read(tmp_path):
    """By the stamp of the file, without a restart."""
    mine, other = a_store(tmp_path), a_store(tmp_path)
    mine.apply({"a": 1}, NOW)
    other.apply({"a": 1, "b": 1}, NOW)
    assert mine.states == {"a": 2, "b": 1}


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    """Each of two processes adds two hundred times."""
    children = []
    for name in "ab":
        child = os.fork()
        if child == 0:
            store = a_store(tmp_path)
            for _ in range(200):
                store.apply({name: 1, "both": 1}, NOW, durable=False)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert a_store(tmp_path).states == {"a": 200, "b": 200, "both": 400}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": "one"}', "\udcff", " " * (2 << 20)])
def test_a_damaged_file_counts_as_empty(tmp_path, text):
    """The next change writes it anew."""
    (tmp_path / "counts.json").write_text(text, errors="surrogateescape")
    store = a_store(tmp_path)
    assert store.states == {}
    store.apply({"a": 1}, NOW)
    assert a_store(tmp_path).states == {"a": 1}


def full(*args, **more):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_change_that_cannot_be_written_is_raised(tmp_path, monkeypatch):
    """The next change that can be written brings it to the disk."""
    store = a_store(tmp_path)
    monkeypatch.setattr(json_record, "write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        store.apply({"a": 1}, NOW)
    monkeypatch.undo()
    store.apply({"b": 1}, NOW)
    assert a_store(tmp_path).states == {"a": 1, "b": 1}


def test_a_change_that_cannot_be_written_is_told_once_where_errors_are_heard(tmp_path, monkeypatch):
    """Of several failures the first; what changed holds all the same."""
    heard = []
    store = a_store(tmp_path, on_error=heard.append)
    monkeypatch.setattr(json_record, "write_atomically", full)
    store.apply({"a": 1}, NOW)
    store.apply({"a": 1}, NOW)
    assert (store.state("a"), len(heard)) == (2, 1)
    monkeypatch.undo()
    store.apply({"b": 1}, NOW)
    assert a_store(tmp_path).states == {"a": 2, "b": 1}
