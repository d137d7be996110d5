"""Locks on files that an agent could have replaced."""

import os

import pytest

from fleet.files.file_lock import exclusive, locked, run_locked


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("victim")])
def test_what_is_no_file_is_put_aside(tmp_path, make):
    """A task can be locked again, and nothing is made behind the link."""
    for lock in (locked, exclusive):
        path = tmp_path / lock.__name__
        make(path)
        with lock(path):
            assert path.is_file()
        assert len(list(tmp_path.glob(f"{lock.__name__}.aside-*"))) == 1
    assert not (tmp_path / "victim").exists()


def test_a_lock_that_is_held_is_told(tmp_path):
    """Also after what stood in its place was put aside."""
    (tmp_path / "lock").mkdir()
    with locked(tmp_path / "lock") as first, locked(tmp_path / "lock") as second:
        assert first is not None
        assert second is None


def test_a_link_in_the_place_of_a_tasks_directory_is_not_followed(tmp_path):
    """No lock is made elsewhere, and the holder goes on to find the damage."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "task").symlink_to(tmp_path / "elsewhere")
    with run_locked(tmp_path / "task") as lock:
        assert lock is not None
        lock.write_holder("1")
    assert list((tmp_path / "elsewhere").iterdir()) == []
