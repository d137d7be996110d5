"""Files that an agent could have replaced are opened without waiting and without following."""

import os
import socket

import pytest

from fleet.errors import InvalidTask
from fleet.files.safe_read import check_directory, open_regular, read_bounded, stamp_of


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def a_link(path):
    path.with_name("target").write_text("secret")
    path.symlink_to(path.with_name("target"))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, a_socket, a_link])
def test_what_is_no_plain_file_is_an_error_that_names_it(tmp_path, make):
    """Nothing waits for a pipe, and nothing reads through a link."""
    make(tmp_path / "record")
    for read in (open_regular, lambda path: read_bounded(path, 100)):
        with pytest.raises(InvalidTask, match="record") as error:
            read(tmp_path / "record")
        assert error.value.hint


def test_a_file_is_read_up_to_its_bound(tmp_path):
    """A sparse gigabyte is refused by its size, and not read."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(InvalidTask, match="larger than 100 bytes"):
        read_bounded(tmp_path / "large", 100)
    assert read_bounded(tmp_path / "none", 100) is None


def test_a_link_is_no_directory(tmp_path):
    """A run is not written through a link to a directory elsewhere."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").touch()
    assert check_directory(tmp_path / "real")
    assert not check_directory(tmp_path / "none")
    for name in ("link", "file", "file/below"):
        with pytest.raises(InvalidTask):
            check_directory(tmp_path / name)


def test_a_link_in_a_circle_has_the_stamp_of_no_file(tmp_path):
    """A loop that looks for changes goes on."""
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    assert stamp_of(tmp_path / "circle") == stamp_of(tmp_path / "none")
