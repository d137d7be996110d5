"""Threads that read a home and act there, so that the screen never waits for a queue.

The threads are daemons: `q` ends fleet top at once, also while a queue does not answer.
"""

import asyncio
import time
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any, TypeVar

from msgspec import Struct

from fleet.control import Control, KeptHome
from fleet.control.view.live_now import LiveNow
from fleet.control.view.now import Now
from fleet.errors import FleetError

#: The least seconds between two looks, and how many times longer a look rests than it took.
_PAUSE, _REST = 1.0, 9
#: The most seconds that a wait for a change takes; `LiveNow` may look earlier.
_LONGEST = 5.0

T = TypeVar("T")


class Unread(Struct, frozen=True):
    """What was asked for cannot be had, and why."""

    message: str
    hint: str = ""


def unread(error: Exception) -> Unread:
    """An error in the form that the person is told."""
    match error:
        case FleetError():
            return Unread(error.message, error.hint)
        case OSError():
            return Unread(f"{error.filename or ''} {error.strerror or error}".strip())
        case _:
            words = f"{type(error).__name__}: {error}"
            return Unread(words, "This is a mistake in fleet; the queue and the agents go on.")


#: A question to the home, and what takes the answer.
HomeJob = tuple[Callable[[Control], Any], Callable[[Any], None]]


class ScreenPost:
    """The way from a thread to the screen: the screen's loop, and the context that
    Textual needs.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = copy_context()

    def tell(self, take: Callable[[Any], None], answer: object) -> bool:
        """Hand an answer over; False: the screen is gone."""
        try:
            self._loop.call_soon_threadsafe(take, answer, context=self._context)
        except RuntimeError:
            return False
        return True


class HomeThread:
    """One thread with an open home. Of the questions in one slot only the latest
    is answered.
    """

    def __init__(self, opened: Callable[[], Control], post: ScreenPost) -> None:
        self._kept = KeptHome(opened)
        self._post = post
        self._waiting: dict[str, HomeJob] = {}
        self._woken = Condition()
        Thread(target=self._work, name="fleet-top", daemon=True).start()

    def submit(
        self, slot: str, ask: Callable[[Control], T], tell: Callable[[T | Unread], None]
    ) -> None:
        """Have a question answered; one that still waits in this slot is forgotten."""
        with self._woken:
            self._waiting[slot] = ask, tell
            self._woken.notify()

    def _work(self) -> None:
        while True:
            with self._woken:
                while not self._waiting:
                    self._woken.wait()
                ask, tell = self._waiting.pop(next(iter(self._waiting)))
            try:
                answer = ask(self._kept.fleet())
            except Exception as error:  # noqa: BLE001 - told on the screen; the thread lives on
                answer = unread(error)
            if not self._post.tell(tell, answer):
                return


class NowThread:
    """Follows *now*: reads what changed when files change, and passes that on at most once a
    second.
    """

    def __init__(
        self,
        opened: Callable[[], Control],
        post: ScreenPost,
        tell: Callable[[Now | Unread], None],
    ) -> None:
        self._opened = opened
        self._post = post
        self._tell = tell
        self._at_once = Event()
        #: Since when a look is under way; None: none is.
        self.busy_since: float | None = None
        Thread(target=self._work, name="fleet-top-now", daemon=True).start()

    def look(self) -> None:
        """Do not rest before the next look: the person has just changed something."""
        self._at_once.set()

    def _work(self) -> None:
        live: LiveNow | None = None
        changed: set[Path] = set()
        while True:
            self.busy_since = began = time.monotonic()
            try:
                if live is None:
                    live = LiveNow(self._opened)
                    found = live.begin()
                else:
                    found = live.now if live.update(changed) else None
            except Exception as error:  # noqa: BLE001 - told on the screen; the thread lives on
                found = unread(error)
            self.busy_since = None
            if found is not None and not self._post.tell(self._tell, found):
                return
            self._at_once.wait(max(_PAUSE, _REST * (time.monotonic() - began)))
            self._at_once.clear()
            changed = live.wait(_LONGEST) if live is not None else set()
