"""Secrets of accounts, channels and forges, from where the settings say that each is kept:
`env:NAME`, `file:PATH` or `keyring:SERVICE/USER`.

The system's keyring is read by the `keyring` library in a separate process: a keyring that is
locked may ask a person who is not there, so that the process is killed after a while; and the
supervisor loads neither the library nor what a keyring needs. Answers are kept in memory for a
minute, never on the disk.
"""

import stat
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.files.safe_read import read_bounded
from fleet.processes.bounded_call import CallFailed, call

T = TypeVar("T")

_LARGEST = 64 << 10
#: The kind of a secret in the system's keyring.
_KEYRING = "keyring"
_KINDS = ("env", "file", _KEYRING)
#: Seconds until a keyring that does not answer is given up.
_TIMEOUT = 10.0
#: How long an answer is fresh; an older one counts until the next is there.
_FRESH = timedelta(minutes=1)
_MISSING = "the keyring cannot be read without the keyring library: {}"


class SecretTrouble(FleetError):
    """A secret or a login cannot be used as it is kept."""


class KeyringAnswer(Struct, frozen=True):
    """What the keyring holds under one service and user."""

    secret: str = ""
    #: Why the keyring could not be read; empty if it only has no such secret.
    trouble: str = ""


def is_secret_place(text: str) -> bool:
    """Whether a text of the settings says where something is kept, instead of being it."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and kind in _KINDS


def keyring_place(place: str) -> str:
    """SERVICE/USER of a secret in the keyring; empty if the secret is elsewhere."""
    kind, _, name = place.partition(":")
    return name if kind == _KEYRING else ""


def read_secret(place: str, env: Mapping[str, str], answer: KeyringAnswer | None = None) -> str:
    """The secret that is kept at `place`. Raises SecretTrouble.

    `answer` is the keyring's, if it was read before.
    """
    kind, _, name = place.partition(":")
    match kind:
        case "env":
            found = env.get(name, "")
            where = f"the variable {name} of the process that started fleet"
        case "file":
            found = _from_file(Path(name))
            where = name
        case _:
            answer = answer or read_keyring(name)
            if answer.trouble:
                raise SecretTrouble(answer.trouble)
            found = answer.secret
            where = f"the keyring, under {name}"
    if not found.strip():
        raise SecretTrouble(f"its secret is gone: there is nothing in {where}")
    if not found.strip().isprintable():
        raise SecretTrouble(f"its secret is no single line of text: {where}")
    return found.strip()


def _from_file(path: Path) -> str:
    try:
        check_private(path)
        data = read_bounded(path.resolve(), _LARGEST)  # a person may keep the file behind a link
    except InvalidTask as error:
        raise SecretTrouble(f"its secret cannot be read: {error.message}") from None
    return (data or b"").decode(errors="replace")


def check_private(path: Path, *, needed: bool = True) -> None:
    """Refuse a secret that other users of the machine can read. Raises SecretTrouble."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        if not needed:
            return
        raise SecretTrouble(f"its secret is gone: there is no {path}") from None
    except OSError as error:
        raise SecretTrouble(f"its secret cannot be read: {path}: {error.strerror}") from None
    if mode & 0o077:
        raise SecretTrouble(f"others can read its secret: chmod 600 {path} (it is {mode:04o})")


def read_keyring(place: str) -> KeyringAnswer:
    """The secret at SERVICE/USER. Blocks until the keyring answers, for ten seconds at most."""
    if find_spec("keyring") is None:
        from fleet.processes.own_distribution import how_to_add

        return KeyringAnswer(trouble=_MISSING.format(how_to_add("keyring")))
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


class Workers(Protocol):
    """Runs jobs outside of the loop, and calls `done` with the result in the loop."""

    def submit(self, job: Callable[[], T], done: Callable[[T], None]) -> None: ...


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
