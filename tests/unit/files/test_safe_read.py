"""Files that an agent could have replaced are opened without waiting and without following."""

import os
import socket

import pytest

from fleet.errors import InvalidTask
from fleet.files.safe_read import check_directory, open_regular, read_bounded, stamp_of, walk
from tests.builders import DEPTH


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


def test_a_tree_of_any_depth_is_walked(a_deep_tree):
    """An agent can dig deeper than Python calls functions, and that ends no supervisor."""
    found = list(walk(str(a_deep_tree)))
    assert len(found) == DEPTH + 1
    assert found[-1][1:] == ([], ["bottom"])


def test_a_walk_finds_what_os_walk_finds(tmp_path):
    """Links to directories are named and not followed; what is not there has nothing."""
    for name in ("b/d", "a"):
        (tmp_path / "top" / name).mkdir(parents=True)
    (tmp_path / "top/b/file").touch()
    (tmp_path / "top/link").symlink_to("b")
    (tmp_path / "top/lost").symlink_to("nowhere")
    mine = {place: (set(folders), set(names)) for place, folders, names in walk(f"{tmp_path}/top")}
    theirs = {
        place: (set(folders), set(names)) for place, folders, names in os.walk(tmp_path / "top")
    }
    assert mine == theirs
    assert list(walk(f"{tmp_path}/none")) == []
