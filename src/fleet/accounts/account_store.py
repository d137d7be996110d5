"""What is known of each account, over restarts: `accounts.json` in the home.

The supervisor writes it, and a person who opens an account by hand; each looks at what the other
wrote before it adds its own.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Generator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from fleet.accounts import account_state as gauge
from fleet.accounts.account_state import EMPTY, AccountState
from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded, stamp_of
from fleet.schemas.event import RateLimit

FILE = "accounts.json"
_LARGEST = 1 << 20

_Gauges = dict[Annotated[str, msgspec.Meta(max_length=100)], AccountState]


class Ledger:
    """The gauges of all accounts, by name.

    What cannot be written is raised; with somebody to tell it (`failed`, once for a row of them) it
    is known all the same, and is written with the next change.
    """

    def __init__(self, home: Path, failed: Callable[[OSError], None] | None = None) -> None:
        self.home = home
        self._failed, self._failing = failed, False
        self._path = home / FILE
        self._stamp: tuple[int, int, int] | None = None
        self._gauges: dict[str, AccountState] = {}

    @property
    def gauges(self) -> dict[str, AccountState]:
        self._look()
        return self._gauges

    def gauge(self, account: str) -> AccountState:
        return self.gauges.get(account, EMPTY)

    # What runs tell.

    def told(self, account: str, limit: RateLimit, running: int, now: datetime) -> None:
        """The stream of a run that goes on told of a limit."""
        self._change(account, lambda it: gauge.told(it, limit, running, now), durable=False)

    def refused(
        self, account: str, limit: RateLimit, running: int, now: datetime, *, model: str = ""
    ) -> None:
        """A run ended since the vendor would not go on; it had asked for this model."""
        self._change(account, lambda it: gauge.refused(it, limit, running, now, model=model))

    def barred(self, account: str, now: datetime) -> None:
        """Its login or its bill was refused."""
        self._change(account, lambda it: gauge.barred(it, now))

    def begun(self, account: str, task_id: str, *, proving: bool) -> None:
        """A run was started on it."""
        self._change(account, lambda it: gauge.begun(it, task_id, proving=proving))

    def answered(
        self, account: str, task_id: str, slots: int, login_ends: datetime | None, now: datetime
    ) -> None:
        """A run has an answer of its model; `login_ends` is that of the login it had it with."""
        self._change(account, lambda it: gauge.answered(it, task_id, slots, login_ends, now))

    def ended(self, account: str, task_id: str) -> None:
        """A run is over, and not for a limit."""
        self._change(account, lambda it: gauge.ended(it, task_id))

    # What people want.

    def forget(self, account: str) -> bool:
        """Open an account again, whatever was known of it. False: nothing was."""
        known = account in self.gauges
        self._change(account, lambda _: EMPTY)
        return known

    def _change(
        self, account: str, after: Callable[[AccountState], AccountState], *, durable: bool = True
    ) -> None:
        before = self.gauge(account)
        if after(before) == before:
            return  # nearly always: no lock, no write
        try:
            with self._locked():
                self._put(account, after)
                data = msgspec.json.encode(self._gauges)
                write_atomically(self._path, data, durable=durable)
                self._stamp = stamp_of(self._path)
        except OSError as error:  # a full disk: what was told shall not end whoever listens
            if self._failed is None:
                raise
            self._gauges = {**self._gauges, account: after(before)}
            if not self._failing:
                self._failed(error)
            self._failing = True
        else:
            self._failing = False

    def _put(self, account: str, after: Callable[[AccountState], AccountState]) -> None:
        """What is known once something has become of an account, by the file as it is now."""
        fresh = {**self.gauges, account: after(self.gauge(account))}
        self._gauges = {name: each for name, each in fresh.items() if each != EMPTY}

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        fd = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _look(self) -> None:
        """Read the file if somebody else has written it."""
        stamp = stamp_of(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            data = read_bounded(self._path, _LARGEST)
            self._gauges = msgspec.json.decode(data, type=_Gauges) if data else {}
        except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
            self._gauges = {}  # the next limit writes it anew; at worst a run meets the wall again
