"""A place that agents can write to: whatever stands there, nothing outside of it is reached."""

import os
import socket
import threading
import time
from itertools import count
from pathlib import Path

import pytest

from fleet.errors import InvalidTask
from fleet.files.agent_place import AgentFile, AgentPlace


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    return tmp_path / "outside"


@pytest.fixture
def root(tmp_path, outside):
    """The place, with a file and two links that lead out of it."""
    root = tmp_path / "place"
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_text("content")
    (root / "a/link").symlink_to(outside / "secret")
    (root / "out").symlink_to(outside)
    return root


def test_a_file_is_read_up_to_its_bound(root):
    """What an agent wrote has any size."""
    place = AgentPlace(root)
    assert place.read("a/b/file", 7) == b"content"
    assert place.beginning("a/b/file", 3) == b"con"
    assert place.read("a/none", 7) is None
    assert place.read("none/none", 7) is None
    with pytest.raises(InvalidTask, match="larger than 6 bytes"):
        place.read("a/b/file", 6)


@pytest.mark.parametrize("name", ["a/link", "out/secret"])
def test_no_link_is_read_through_at_any_part_of_the_name(root, name):
    """A link in the place of a directory leads as far as one in the place of the file."""
    with pytest.raises(InvalidTask, match="place"):
        AgentPlace(root).read(name, 100)
    with pytest.raises(InvalidTask):
        AgentPlace(root).copy(name, AgentPlace(root), "copy", 100)
    assert not (root / "copy").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, a_socket])
def test_what_is_no_plain_file_is_refused_and_not_waited_for(root, make, monkeypatch):
    """A pipe without a writer would hold the supervisor up for ever."""
    monkeypatch.chdir(root)  # a socket's path is short
    make("odd")
    with pytest.raises(InvalidTask, match="odd"):
        AgentPlace(root).read("odd", 100)


def test_a_device_without_an_end_is_bounded(tmp_path):
    """A link to /dev/zero has the size 0 and never ends."""
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(InvalidTask):
        AgentPlace(tmp_path).copy("zero", AgentPlace(tmp_path), "copy", 1 << 20)


@pytest.mark.parametrize("name", ["../outside/secret", "/etc/passwd", "a/../b", "a//b", "."])
def test_a_name_does_not_lead_upwards(root, name):
    """Names come from listings; one that has other parts is a defect of the caller."""
    with pytest.raises(ValueError, match="no name below"):
        AgentPlace(root).read(name, 100)


def test_a_search_finds_regular_files_and_follows_no_link(root, outside):
    """A session's file is found by a pattern, in a directory that the agent fills."""
    (outside / "file").write_text("another")
    place = AgentPlace(root)
    assert [entry.name for entry in place.find("*/*/file")] == ["a/b/file"]
    assert [entry.name for entry in place.find("**/file")] == ["a/b/file"]
    assert place.find("out/*") == place.find("a/link") == []
    assert place.find("a/b/f[i]le")[0].size == len("content")
    assert AgentFile(place, "a/b/file").size() == len("content")
    assert AgentFile(place, "a/link").size() == 0


def test_a_listing_tells_of_links_and_does_not_follow_them(root):
    """The facts are those of the link itself."""
    place = AgentPlace(root)
    assert [entry.name for entry in place.entries()] == ["a", "out"]
    assert place.entries("out") == []
    found = {entry.name: entry.is_file for entry in place.walk()}
    assert found == {"a/b/file": True, "a/link": False, "out": False}
    assert place.look("out").is_directory is False
    assert place.look("out/secret") is None


def test_a_write_replaces_a_link_and_not_what_it_leads_to(root, outside):
    """The agent chooses what the names stand for."""
    place = AgentPlace(root)
    place.write("a/link", b"new", 0o640)
    assert (root / "a/link").read_text() == "new"
    assert not (root / "a/link").is_symlink()
    assert (root / "a/link").stat().st_mode & 0o777 == 0o640
    with pytest.raises(InvalidTask):
        place.write("out/planted", b"new")
    place.write("new/deep/file", b"x", durable=False)
    assert (root / "new/deep/file").read_bytes() == b"x"
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


def test_a_copy_is_whole_or_not_there(root, tmp_path):
    """A file that is larger than its bound, or grows while it is read, leaves nothing behind."""
    source, target = AgentPlace(root), AgentPlace(tmp_path / "other")
    assert source.copy("a/b/file", target, "x/y", 7)
    assert (tmp_path / "other/x/y").read_text() == "content"
    with pytest.raises(InvalidTask, match="larger"):
        source.copy("a/b/file", target, "x/z", 6)
    assert [path.name for path in (tmp_path / "other/x").iterdir()] == ["y"]
    assert not source.copy("a/none", target, "x/z", 6)


def test_what_is_removed_is_the_name_and_not_its_target(root, outside):
    """A link goes, what it leads to stays."""
    place = AgentPlace(root)
    place.remove("out")
    place.remove("none/none")
    with pytest.raises(OSError, match="not empty"):
        place.remove("a")
    assert not (root / "out").is_symlink()
    assert (outside / "secret").exists()


def test_a_place_is_no_path(root):
    """What takes a path follows links: a place is not taken for one."""
    place = AgentPlace(root)
    for use in (os.stat, Path, open, os.path.exists):
        with pytest.raises(TypeError):
            use(place)
    assert not hasattr(place, "__truediv__")


def test_a_swap_in_mid_read_reaches_nothing_outside(root, outside):
    """A thread puts a link in the place of the directory and back while the file is read."""
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            (root / "a").rename(root / "kept")
            (root / "a").symlink_to(outside)
            (root / "a").unlink()
            (root / "kept").rename(root / "a")

    (outside / "b").mkdir()
    (outside / "b/file").write_text("secret!")
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = set()
        end = time.monotonic() + 20
        for number in count():
            # On a busy machine the reader may meet the thread at one moment again and again.
            if number >= 2000 and (b"content" in seen or time.monotonic() > end):
                break
            try:
                seen.add(AgentPlace(root).read("a/b/file", 100))
            except InvalidTask:
                seen.add("refused")
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"content", None, "refused"}
    assert b"content" in seen
