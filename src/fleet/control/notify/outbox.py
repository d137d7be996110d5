"""The outbox: what is to be told, what was, and which answers came, in one SQLite file.

Every step is durable once it returns, so that a notifier that is killed tells at least once what it
meant to tell, under the same key.
"""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from fleet.control.notify.telling_rules import NoticeState, Notification
from fleet.errors import FleetError
from fleet.home import Home
from fleet.queue.sql import named_sql
from fleet.queue.sqlite_files import make_private
from fleet.schemas import typed

FILE = "outbox.db"
#: Notifications and answers are kept for this long; open questions until they have their end.
KEPT = timedelta(days=30)
_BUSY_MS = 5000


class OutboxTrouble(FleetError):
    """The outbox cannot be read or written."""


class SentQuestion(Struct, frozen=True, kw_only=True):
    """A question that was told, and what an answer must name."""

    nonce: str
    #: The key of the notification that told it.
    notification: str
    task: str
    #: The key of the notice.
    notice: str
    options: tuple[str, ...]
    #: The answer, or what became of the question; empty: open.
    end: str = ""


class OutboxDelivery(Struct, frozen=True, kw_only=True):
    """A notification that a channel has to send, and how often that was tried."""

    notification: Notification
    tries: int
    made_at: datetime


class ChannelState(Struct, frozen=True, kw_only=True):
    """How one channel does, for `fleet notify status`."""

    channel: str
    waiting: int
    oldest: datetime | None
    problem: str
    #: Notifications that were given up, of those that are kept.
    dropped: int
    #: Notifications that the channel took, and that were given up, since there is an outbox.
    sent_total: int = 0
    dropped_total: int = 0


class Outbox:
    """One connection to the outbox's database, which threads may share."""

    def __init__(self, home: Home) -> None:
        self.path = home.path / FILE
        self._lock = threading.RLock()
        with self._own_errors():
            make_private(self.path)
            self._db: Any = apsw.Connection(str(self.path))
            self._db.set_busy_timeout(_BUSY_MS)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute(self._sql["schema"])

    @cached_property
    def _sql(self) -> Any:
        return named_sql.load(str(Path(__file__).with_suffix(".sql")))

    @contextmanager
    def _own_errors(self) -> Generator[None]:
        """SQLite's errors in fleet's words."""
        try:
            yield
        except apsw.Error as error:
            raise OutboxTrouble(
                f"the outbox {self.path} cannot be used: {error}",
                hint="Is the disk full? What is not told yet is found again.",
            ) from error

    def _rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        with self._lock, self._own_errors():
            return self._db.execute(self._sql[statement], values).fetchall()

    @contextmanager
    def writing(self) -> Generator[None]:
        """Several steps that are durable together, or not at all."""
        with self._lock, self._own_errors(), self._db:
            yield

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # What is so.

    def notice_states(self) -> dict[str, NoticeState]:
        """Every known notice, by key."""
        found = [typed.decode(record, NoticeState) for (record,) in self._rows("told")]
        return {each.key: each for each in found}

    def keep(self, state: NoticeState) -> None:
        record = msgspec.json.encode(state).decode()
        self._rows("keep_told", key=state.key, record=record, ended_at=_seconds(state.ended_at))

    # What is told.

    def add(self, notification: Notification, channels: Sequence[str], notice: str) -> None:
        """Have a notification sent through each channel. `notice`: the key of what it tells, by
        which the answer to a question is held against what is asked then.
        """
        now = _seconds(notification.at)
        with self.writing():
            self._rows(
                "add_message", key=notification.key, now=now,
                record=msgspec.json.encode(notification).decode(),
            )  # fmt: skip
            for channel in channels:
                self._rows("add_delivery", key=notification.key, channel=channel, now=now)
            if notification.nonce:
                self._rows(
                    "add_asked", nonce=notification.nonce, message=notification.key, notice=notice,
                    task=notification.tasks[0],
                    options=msgspec.json.encode(notification.options).decode(),
                )  # fmt: skip

    def due(self, channel: str, now: datetime) -> list[OutboxDelivery]:
        rows = self._rows("due", channel=channel, now=_seconds(now))
        return [
            OutboxDelivery(
                notification=typed.decode(record, Notification), tries=tries,
                made_at=datetime.fromtimestamp(made_at, UTC),
            )
            for record, tries, made_at in rows
        ]  # fmt: skip

    def sent(self, key: str, channel: str, remote: str) -> None:
        with self.writing():
            self._rows("sent", key=key, channel=channel, remote=remote)
            self._rows("count", name=f"sent.{channel}")

    def put_off(self, key: str, channel: str, due: datetime | None, problem: str) -> None:
        """Try again at `due`; None: give the notification up."""
        with self.writing():
            self._rows("put_off", key=key, channel=channel, due=_seconds(due), problem=problem)
            if due is None:
                self._rows("count", name=f"given up.{channel}")

    def made_since(self, since: datetime) -> int:
        return int(self._rows("made_since", since=_seconds(since))[0][0])

    def states(self) -> list[ChannelState]:
        return [
            ChannelState(
                channel=channel, waiting=waiting, oldest=_moment(oldest), problem=problem or "",
                dropped=dropped or 0, sent_total=int(sent or 0), dropped_total=int(given_up or 0),
            )
            for channel, waiting, oldest, problem, dropped, sent, given_up in self._rows("waiting")
        ]  # fmt: skip

    def forget_old(self, now: datetime) -> None:
        """Forget what is older than `KEPT`, but no question that is open."""
        with self.writing():
            for statement in ("forget_messages", "forget_told"):
                self._rows(statement, before=_seconds(now - KEPT))
            for statement in ("forget_deliveries", "forget_asked"):
                self._rows(statement)

    # What is answered.

    def question(self, nonce: str) -> SentQuestion | None:
        return _question(self._rows("asked", nonce=nonce))

    def question_by_remote(self, channel: str, remote: str) -> SentQuestion | None:
        """The question that a channel's own message told."""
        return _question(self._rows("asked_by_remote", channel=channel, remote=remote))

    def question_by_notification(self, key: str) -> SentQuestion | None:
        """The question that a notification told."""
        return _question(self._rows("asked_by_message", key=key))

    def open_questions(self) -> list[SentQuestion]:
        return [each for row in self._rows("open_asked") if (each := _question([row])) is not None]

    def end_question(self, nonce: str, end: str) -> bool:
        """Note what became of a question. False: that was noted before."""
        return bool(self._rows("end_asked", nonce=nonce, end=end))

    def remotes(self, key: str) -> list[tuple[str, str]]:
        """What each channel calls a notification."""
        return [(channel, remote) for channel, remote in self._rows("remotes", key=key)]

    # What a channel has to remember.

    def recall(self, name: str) -> str:
        rows = self._rows("recall", name=name)
        return str(rows[0][0]) if rows else ""

    def remember(self, name: str, value: str) -> None:
        self._rows("remember", name=name, value=value)


def _question(rows: Sequence[tuple[Any, ...]]) -> SentQuestion | None:
    if not rows:
        return None
    nonce, notification, task, notice, options, end = rows[0]
    return SentQuestion(
        nonce=nonce, notification=notification, task=task, notice=notice, end=end or "",
        options=typed.decode(options, tuple[str, ...]),
    )  # fmt: skip


def _seconds(at: datetime | None) -> float | None:
    return at.timestamp() if at is not None else None


def _moment(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None else None
