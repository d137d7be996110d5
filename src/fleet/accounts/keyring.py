"""The system's keyring, asked beside the loop: one that is locked may take its time to say so.

What it said is known for a while, so that not every run waits for it; never on the disk.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from msgspec import Struct

#: A keyring that is locked asks a person who is not there.
_PATIENCE = 5.0
#: It is asked again after this long; what it said before counts until it has answered.
_FRESH = timedelta(minutes=1)


class Answer(Struct, frozen=True):
    """What the keyring said of one secret."""

    secret: str = ""
    #: Why there is none to be had; empty if it only does not know it.
    trouble: str = ""


class Beside(Protocol):
    """Does things elsewhere, and answers where it was asked."""

    def submit(self, job: Callable[[], Answer], done: Callable[[Answer], None]) -> None: ...


def ask(place: str) -> Answer:
    """Look up SERVICE/USER. Blocks for seconds, if nobody unlocks the keyring."""
    service, _, user = place.partition("/")
    if sys.platform == "darwin":
        argv = ["security", "find-generic-password", "-s", service, "-a", user, "-w"]
    else:
        argv = ["secret-tool", "lookup", "service", service, "username", user]
    if shutil.which(argv[0]) is None:
        return Answer(trouble=f"the keyring cannot be asked: there is no {argv[0]} on PATH")
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return Answer(trouble="the keyring does not answer: is it locked?")
    except OSError as error:
        return Answer(trouble=f"the keyring cannot be asked: {argv[0]}: {error.strerror}")
    return Answer(secret=done.stdout.decode(errors="replace"))


class Keyring:
    """What the keyring said."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self._known: dict[str, tuple[Answer, datetime]] = {}
        self._asked: set[str] = set()

    def get(self, place: str, now: datetime) -> Answer | None:
        """Its latest answer; None: it has given none yet."""
        at = self._known[place][1] if place in self._known else None
        fresh = at is not None and timedelta() <= now - at < _FRESH
        if not fresh and place not in self._asked:
            self._asked.add(place)
            self._beside.submit(partial(ask, place), partial(self._heard, place, now))
        return self.known(place)

    def known(self, place: str) -> Answer | None:
        """The same, and nobody is asked."""
        return self._known[place][0] if place in self._known else None

    def _heard(self, place: str, now: datetime, answer: Answer) -> None:
        self._asked.discard(place)
        self._known[place] = (answer, now)
