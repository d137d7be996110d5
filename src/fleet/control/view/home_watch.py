"""Waits until something of a home may have changed, so that a surface need not look all the time.

Watched are the home itself (the queue's file, the supervisor's records), the list of tasks, and the
directories of tasks that run. A queue on another machine changes no file: for that a surface still
looks now and then.
"""

import os
import select
import time
from collections.abc import Iterable
from pathlib import Path

from fleet.errors import BadInput
from fleet.files.inotify import DirectoryWatch
from fleet.home import Home

#: Seconds between two looks at directories that the system cannot watch.
_LOOK_AGAIN = 0.25


class HomeWatch:
    """The changes of one home. One thread waits; any thread may wake it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._watch = DirectoryWatch()
        for folder in (home.path, home.tasks, home.beads, home.logging):
            if folder.is_dir():
                self._watch.add(folder)
        self._followed: set[Path] = set()
        self._ear, self._mouth = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def follow(self, task_ids: Iterable[str]) -> None:
        """Watch the directories of these tasks, and of no others."""
        wanted: set[Path] = set()
        for task_id in task_ids:
            try:
                wanted.add(self._home.task(task_id))
            except BadInput:  # an id that cannot be a directory has none
                continue
        for folder in self._followed - wanted:
            self._watch.drop(folder)
        for folder in wanted - self._followed:
            self._watch.add(folder)
        self._followed = wanted

    def wait(self, seconds: float) -> bool:
        """Wait for a change or for `wake`; returns whether one came."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            heard, known = self._heard(left)
            if heard or known:
                return True
        return False

    def wake(self) -> None:
        """End the wait of another thread now."""
        try:
            os.write(self._mouth, b"!")
        except BlockingIOError:  # it was woken often enough
            return

    def close(self) -> None:
        self._watch.close()
        os.close(self._ear)
        os.close(self._mouth)

    def _heard(self, left: float) -> tuple[bool, bool]:
        """Whether the wait was ended from outside, and whether a file changed."""
        number = self._watch.fileno()
        poll = select.poll()
        poll.register(self._ear, select.POLLIN)
        if number is not None:
            poll.register(number, select.POLLIN)
        poll.poll(1000 * (left if number is not None else min(left, _LOOK_AGAIN)))
        try:
            woken = bool(os.read(self._ear, 4096))
        except BlockingIOError:
            woken = False
        return woken, bool(self._watch.changed(0))
