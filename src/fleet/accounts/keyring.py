"""Secrets in the system's keyring, read by the `keyring` library in a separate process.

A keyring that is locked may ask a person who is not there, so that the process is killed after a
while; and the supervisor loads neither the library nor what a keyring needs. Answers are kept in
memory for a minute, never on the disk.
"""

import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec
from typing import Protocol

from msgspec import Struct

from fleet.processes.bounded_call import CallFailed, call

#: Seconds until a keyring that does not answer is given up.
_TIMEOUT = 10.0
#: How long an answer is fresh; an older one counts until the next is there.
_FRESH = timedelta(minutes=1)
_MISSING = "the keyring cannot be read without the keyring library: pip install 'fleet[keyring]'"


class KeyringAnswer(Struct, frozen=True):
    """What the keyring holds under one service and user."""

    secret: str = ""
    #: Why the keyring could not be read; empty if it only has no such secret.
    trouble: str = ""


class Workers(Protocol):
    """Runs jobs outside of the loop, and calls `done` with the result in the loop."""

    def submit(
        self, job: Callable[[], KeyringAnswer], done: Callable[[KeyringAnswer], None]
    ) -> None: ...


def read_keyring(place: str) -> KeyringAnswer:
    """The secret at SERVICE/USER. Blocks until the keyring answers, for ten seconds at most."""
    if find_spec("keyring") is None:
        return KeyringAnswer(trouble=_MISSING)
    service, _, user = place.partition("/")
    # -P: a file of that name in the working directory, which may be an agent's, is not run.
    argv = [sys.executable, "-P", "-m", "keyring", "get", "--", service, user]
    done = call(argv, timeout=_TIMEOUT)
    if isinstance(done, CallFailed):
        locked = ": is it locked?" if done.fault == "timeout" else ""
        return KeyringAnswer(trouble=f"the keyring {done.problem}{locked}")
    if done.code and done.err.strip():
        # The last line of a traceback, `keyring.errors.NoKeyringError: …`.
        why = done.err.strip().splitlines()[-1].removeprefix("keyring.errors.")
        return KeyringAnswer(trouble=f"the keyring cannot be read: {why[:300]}")
    return KeyringAnswer(secret=done.text)


class KeyringCache:
    """The latest answers of the keyring, asked for outside of the loop."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._known: dict[str, tuple[KeyringAnswer, datetime]] = {}
        self._asked: set[str] = set()

    def get(self, place: str, now: datetime) -> KeyringAnswer | None:
        """The latest answer, and a new question if that is a minute old; None: none came yet."""
        at = self._known[place][1] if place in self._known else None
        fresh = at is not None and timedelta() <= now - at < _FRESH
        if not fresh and place not in self._asked:
            self._asked.add(place)
            self._workers.submit(partial(read_keyring, place), partial(self._keep, place, now))
        return self.latest(place)

    def latest(self, place: str) -> KeyringAnswer | None:
        """The latest answer; None: none came yet."""
        return self._known[place][0] if place in self._known else None

    def _keep(self, place: str, now: datetime, answer: KeyringAnswer) -> None:
        self._asked.discard(place)
        self._known[place] = (answer, now)
