"""JSON records: read, damaged, written, and changed by several processes."""

from pathlib import Path

import pytest
from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.json_record import JsonRecord


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
