"""A machine that is short of something is told from files that are damaged."""

import errno

import pytest

from fleet.errors import FleetError
from fleet.files import machine_short
from fleet.files.machine_short import is_short, low_disk, named_in
from fleet.git.repository import GitFailed


def test_an_error_of_the_machine_is_told_from_one_of_the_work():
    """By the machine's number, which an error of git bears as well."""
    assert is_short(OSError(errno.ENOSPC, "full"))
    assert is_short(GitFailed("git add: it failed", errno=errno.ENOSPC))
    assert not is_short(PermissionError(errno.EACCES, "no right"))
    assert not is_short(GitFailed("git add: No space left on device"))
    assert not is_short(FleetError("No space left on device"))
    assert not is_short(ValueError())


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("error: unable to write file x: No space left on device\nfatal: it failed", errno.ENOSPC),
        ("fatal: cannot fork: Resource temporarily unavailable\n", errno.EAGAIN),
        ("error: open 'No space left on device': Permission denied", None),
        ("fatal: bad object No space left on device\n", None),
        ("", None),
    ],
)
def test_a_program_names_a_shortage_at_the_end_of_a_line(printed, number):
    """Elsewhere the words may be the name of a file."""
    assert named_in(printed) == number


@pytest.mark.parametrize("floor", ["FLOOR", "FLOOR_FILES"])
def test_a_disk_below_the_floor_has_no_room(tmp_path, monkeypatch, floor):
    """What is left of bytes and inodes is for the runs that are at work."""
    assert low_disk(tmp_path) == machine_short.shortage(tmp_path) == ""
    monkeypatch.setattr(machine_short, floor, 1 << 62)
    assert str(tmp_path) in low_disk(tmp_path) == machine_short.shortage(tmp_path)


def test_a_disk_that_takes_no_write_is_short_whatever_its_figures_say(tmp_path, monkeypatch):
    """Such as at a quota."""

    def refuse(*_):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(machine_short.os, "posix_fallocate", refuse)
    assert "quota" in machine_short.shortage(tmp_path)
