"""What is known of each account, over restarts: `accounts.json` in the home.

The supervisor writes it, and a person who opens an account by hand; each looks at what the other
wrote before it adds its own.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Generator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import structs

from fleet.accounts import pace, windows
from fleet.accounts.scheduler import EMPTY, Gauge
from fleet.errors import InvalidTask
from fleet.schemas.stream import RateLimit
from fleet.taskdir.atomic import write_atomically
from fleet.taskdir.plain import read_plain

FILE = "accounts.json"
_LARGEST = 1 << 20
#: A login or a bill that was refused is tried again after this long, if nobody opens it before.
_REFUSED = timedelta(minutes=5)

_Gauges = dict[Annotated[str, msgspec.Meta(max_length=100)], Gauge]


class Ledger:
    """The gauges of all accounts, by name."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._path = home / FILE
        self._stamp: tuple[int, int] | None = None
        self._gauges: dict[str, Gauge] = {}

    @property
    def gauges(self) -> dict[str, Gauge]:
        self._look()
        return self._gauges

    def gauge(self, account: str) -> Gauge:
        return self.gauges.get(account, EMPTY)

    # What runs tell.

    def told(self, account: str, limit: RateLimit, running: int, now: datetime) -> None:
        """A stream told of a limit."""

        def after(gauge: Gauge) -> Gauge:
            if limit.kind in windows.PASSING:
                return structs.replace(gauge, pace=pace.pressed(gauge.pace, running, now))
            if limit.status == "rejected" and limit.resets_at is None:
                return gauge  # another window may tell until when: how the run ends says which
            known = dict(windows.noted(gauge.windows, limit, now))
            return structs.replace(gauge, windows=known)

        self._change(account, after, durable=False)

    def refused(self, account: str, limit: RateLimit, running: int, now: datetime) -> None:
        """A run ended since the vendor would not go on."""

        def after(gauge: Gauge) -> Gauge:
            if limit.kind in windows.PASSING:
                wait = _wait(limit.resets_at, now)
                slower = pace.refused(gauge.pace, running, wait, now)
                return structs.replace(gauge, pace=slower)
            rejected = structs.replace(limit, status="rejected")
            known = dict(windows.noted(gauge.windows, rejected, now))
            ends = windows.end_of(known[limit.kind])
            return structs.replace(gauge, windows=known, pace=pace.shut(gauge.pace, ends))

        self._change(account, after)

    def barred(self, account: str, now: datetime) -> None:
        """Its login or its bill was refused: nobody else need find out right now."""
        self._change(
            account,
            lambda gauge: structs.replace(
                gauge, pace=structs.replace(pace.shut(gauge.pace, now), until=now + _REFUSED)
            ),
        )

    def begun(self, account: str, task_id: str, *, proving: bool) -> None:
        self._change(
            account,
            lambda gauge: structs.replace(
                gauge, pace=pace.begun(gauge.pace, task_id, proving=proving)
            ),
        )

    def answered(
        self, account: str, task_id: str, slots: int, login_ends: datetime | None, now: datetime
    ) -> None:
        """A run has an answer of its model; `login_ends` is that of the login it had it with."""

        def after(gauge: Gauge) -> Gauge:
            proved = gauge.pace.probe == task_id and login_ends is not None
            return structs.replace(
                gauge,
                pace=pace.answered(gauge.pace, task_id, slots, now),
                proven_login=login_ends if proved else gauge.proven_login,
            )

        self._change(account, after)

    def ended(self, account: str, task_id: str) -> None:
        self._change(
            account, lambda gauge: structs.replace(gauge, pace=pace.ended(gauge.pace, task_id))
        )

    # What people want.

    def forget(self, account: str) -> bool:
        """Open an account again, whatever was known of it. False: nothing was."""
        known = account in self.gauges
        self._change(account, lambda _: EMPTY)
        return known

    def _change(
        self, account: str, after: Callable[[Gauge], Gauge], *, durable: bool = True
    ) -> None:
        before = self.gauge(account)
        if after(before) == before:
            return  # nearly always: no lock, no write
        with self._locked():
            fresh = {**self.gauges, account: after(self.gauge(account))}
            self._gauges = {name: gauge for name, gauge in fresh.items() if gauge != EMPTY}
            data = msgspec.json.encode(self._gauges)
            write_atomically(self._path, data, durable=durable)
            self._stamp = self._stamped()

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
        stamp = self._stamped()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            data = read_plain(self._path, _LARGEST)
            self._gauges = msgspec.json.decode(data, type=_Gauges) if data else {}
        except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
            self._gauges = {}  # the next limit writes it anew; at worst a run meets the wall again

    def _stamped(self) -> tuple[int, int]:
        try:
            about = self._path.stat()
        except FileNotFoundError:
            return (0, 0)
        return (about.st_mtime_ns, about.st_ino)


def _wait(until: datetime | None, now: datetime) -> timedelta | None:
    """How long a refusal lasts, if it says and if that can be."""
    if until is None or until.tzinfo is None or not now < until <= now + windows.LONGEST:
        return None
    return until - now
