"""Watching run directories: told at once, with inotify and without."""

import sys
import threading
import time

import pytest

from fleet.files import inotify as watching
from fleet.files.inotify import DirectoryWatch

kinds = pytest.mark.parametrize("polling", [False, True], ids=["inotify", "polling"])


@pytest.fixture
def watch(polling):
    watch = DirectoryWatch(polling=polling)
    yield watch
    watch.close()


@pytest.fixture
def directories(tmp_path):
    made = [tmp_path / name for name in "abc"]
    for directory in made:
        directory.mkdir()
        (directory / "stdout").touch()
    return made


@kinds
def test_only_what_changed_is_told(watch, directories):
    """A file that grows and a file that is renamed into place are seen, each directory once."""
    for directory in directories:
        watch.add(directory)
    assert watch.changed(0) == set()
    with (directories[0] / "stdout").open("a") as file:
        file.write("x")
        file.flush()
        file.write("y")
    (directories[1] / ".exit").touch()
    (directories[1] / ".exit").rename(directories[1] / "exit.json")
    assert watch.changed(5) == {directories[0], directories[1]}
    assert watch.changed(0) == set()


@kinds
def test_a_waiting_watcher_is_woken(watch, directories):
    """A change during the wait ends it long before its time."""
    watch.add(directories[0])
    timer = threading.Timer(0.05, (directories[0] / "started").touch)
    timer.start()
    began = time.monotonic()
    assert watch.changed(60) == {directories[0]}
    assert time.monotonic() - began < 30
    timer.join()


@kinds
def test_a_dropped_directory_is_silent(watch, directories):
    """A directory that is no longer watched wakes no reader, and may be watched again."""
    watch.add(directories[0])
    watch.drop(directories[0])
    (directories[0] / "started").touch()
    assert watch.changed(0) == set()
    watch.add(directories[0])
    (directories[0] / "exit.json").touch()
    assert watch.changed(5) == {directories[0]}


@kinds
def test_a_directory_that_disappears_is_no_error(watch, directories):
    """Deleting a watched directory leaves the others watched."""
    for directory in directories[:2]:
        watch.add(directory)
    (directories[0] / "stdout").unlink()
    directories[0].rmdir()
    watch.changed(0)
    (directories[1] / "started").touch()
    assert watch.changed(5) == {directories[1]}


@pytest.mark.skipif(sys.platform != "linux", reason="needs inotify")
def test_a_directory_beyond_the_limit_of_watches_is_polled(directories):
    """When the kernel refuses one more watch, that directory is looked at instead."""
    watch = DirectoryWatch()
    missing = directories[0] / "not yet there"
    watch.add(missing)
    watch.add(directories[1])
    assert watch.fileno() is None
    missing.mkdir()
    (missing / "stdout").touch()
    assert watch.changed(5) == {missing}
    watch.drop(missing)
    assert watch.fileno() is not None
    watch.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs inotify")
def test_lost_events_mean_that_everything_may_have_changed(directories, monkeypatch):
    """After an overflow of the kernel's queue every directory is reported."""
    watch = DirectoryWatch()
    for directory in directories:
        watch.add(directory)
    overflow = watching._EVENT.pack(-1, watching._OVERFLOW, 0, 0)
    monkeypatch.setattr(watch, "_read", lambda: overflow)
    assert watch.changed(0) == set(directories)
    watch.close()
