"""JSON records: read, damaged, written, and changed by several processes."""

import errno
import os
from pathlib import Path
from threading import Thread

import pytest
from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files import json_record
from fleet.files.json_record import JsonRecord, SharedRecord


class Thing(Struct, frozen=True):
    name: str
    count: int = 0


RECORD = JsonRecord(Thing, limit=100, hint="Mend it.")
COUNTS = JsonRecord(dict[str, int])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "thing.json"


def test_what_was_written_is_read(path):
    """A value comes back equal, and no file is no value."""
    assert RECORD.read(path) is None
    RECORD.write(path, Thing("a", 3))
    assert RECORD.read(path) == Thing("a", 3)
    assert path.read_bytes().endswith(b"}\n")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("data", [b"{", b'{"name": 7}', b'{"name": "\xff"}', b"x" * 101])
def test_damage_names_the_file_and_the_way_out(path, data):
    """A damaged or oversized file is an error that names it, or None where that is tolerated."""
    path.write_bytes(data)
    with pytest.raises(InvalidTask, match=str(path)):
        RECORD.read(path)
    assert RECORD.read_or_none(path) is None


def test_the_hint_is_the_records_own(path):
    """The hint says what a person does about this kind of file."""
    path.write_bytes(b"{")
    with pytest.raises(InvalidTask) as error:
        RECORD.read(path)
    assert error.value.hint == "Mend it."


def test_an_empty_file_is_none_unless_the_record_forbids_it(path):
    """A power cut may leave a name without its content."""
    path.touch()
    assert RECORD.read(path) is None
    with pytest.raises(InvalidTask):
        JsonRecord(Thing, may_be_empty=False).read(path)


def test_a_link_is_not_followed(path, tmp_path):
    """An agent can put a link in a record's place."""
    RECORD.write(tmp_path / "other.json", Thing("other"))
    path.symlink_to(tmp_path / "other.json")
    with pytest.raises(InvalidTask):
        RECORD.read(path)


class TestShared:
    def test_the_value_follows_the_file(self, path):
        """Each store sees what the other has written."""
        one, other = SharedRecord(path, COUNTS, {}), SharedRecord(path, COUNTS, {})
        assert one.value == {}
        other.update(lambda known: {**known, "a": 1})
        assert one.value == {"a": 1}

    def test_no_update_is_lost(self, path):
        """Many stores add at once, and each addition is there in the end."""

        def add() -> None:
            store = SharedRecord(path, COUNTS, {})
            for _ in range(25):
                store.update(lambda known: {"n": known.get("n", 0) + 1}, durable=False)

        threads = [Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert SharedRecord(path, COUNTS, {}).value == {"n": 100}

    def test_a_change_to_nothing_new_writes_nothing(self, path):
        """Neither the file nor its lock is made."""
        SharedRecord(path, COUNTS, {}).update(dict)
        assert not list(path.parent.iterdir())

    def test_a_damaged_file_counts_as_the_default(self, path):
        """The next change writes the file anew."""
        path.write_bytes(b"{")
        store = SharedRecord(path, COUNTS, {"a": 0})
        assert store.value == {"a": 0}
        store.update(lambda known: {**known, "b": 1})
        assert COUNTS.read(path) == {"a": 0, "b": 1}

    def test_a_full_disk_is_raised_and_the_value_is_known_all_the_same(self, path, monkeypatch):
        """The next change writes both."""
        store = SharedRecord(path, COUNTS, {})

        def full(*_args: object, **_kwargs: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(json_record, "write_atomically", full)
            with pytest.raises(OSError, match="No space"):
                store.update(lambda known: {**known, "a": 1})
        assert store.value == {"a": 1}
        store.update(lambda known: {**known, "b": 2})
        assert COUNTS.read(path) == {"a": 1, "b": 2}
