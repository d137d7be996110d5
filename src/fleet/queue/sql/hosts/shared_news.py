"""What hosts tell each other: limits of keys that one of them met, and what their runs spent, for
the budgets of a day. Each host has one row for each thing that it tells, with the latest word.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fleet.queue.sql.row_mapping import moment, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Spend, typed

#: No window of a vendor is longer.
_KEPT = timedelta(days=8)
#: A row that was written earlier may be seen later: its transaction took its time.
_OVERLAP = timedelta(minutes=1)

#: The kind of row; earlier versions of fleet write others as well.
_KIND = "account"


class HostNews(Struct, frozen=True, kw_only=True):
    """One thing that a host tells the others."""

    host: str
    #: What it is about: the mark of a key.
    subject: str
    #: Which of several things about the subject: a kind of limit.
    topic: str
    #: The event as JSON.
    value: str
    #: How long ago it was told, by the server's clock.
    age: timedelta = timedelta()

    @property
    def name(self) -> str:
        return f"{self.host} {self.topic} {self.subject}"


def host_news(subject: str, topic: str, event: object, *, host: str, by: str) -> HostNews:
    """What the host of this id, which people call `by`, tells of one event."""
    value = msgspec.json.encode({"by": by, "event": event}).decode()
    return HostNews(host=host, subject=subject, topic=topic, value=value)


def share_news(queue: SqlQueue, news: Iterable[HostNews]) -> None:
    """Tell the other hosts; a later word about the same thing takes the place of the earlier."""
    now = queue.db.now()
    with queue.db.writing():
        for each in {one.name: one for one in news}.values():
            values = {"kind": _KIND, "name": each.name, "value": each.value}
            queue.rows("hosts.share_news", values | {"now": to_micros(now)})
        queue.rows("hosts.forget_news", {"long_ago": to_micros(now - _KEPT)})


class NewsReader:
    """What other hosts told since this one last asked; each word once."""

    def __init__(self) -> None:
        self._since: datetime | None = None
        self._seen: dict[str, tuple[int, str]] = {}

    def read(self, queue: SqlQueue, host: str) -> list[HostNews]:
        after = to_micros(self._since - _OVERLAP) if self._since is not None else 0
        rows = queue.rows("hosts.news_elsewhere", {"host": host, "after": after})
        now = queue.db.now()
        found: list[HostNews] = []
        for kind, name, value, at in rows:
            if kind != _KIND or self._seen.get(name) == (at, value) or name.count(" ") < 2:
                continue
            self._seen[name] = (at, value)
            other, topic, subject = name.split(" ", 2)
            told = moment(at)
            self._since = max(self._since or told, told)
            found.append(
                HostNews(
                    host=other, subject=subject, topic=topic,
                    value=value, age=max(timedelta(), now - told),
                )
            )  # fmt: skip
        return found


class RunSpend(Struct, frozen=True, kw_only=True):
    """What one run spent, on the day on which the run began, by the host's clock."""

    task_id: str
    run: int
    day: str
    host: str
    project: str = ""
    account: str = ""
    spend: Spend = Spend()


def share_spends(queue: SqlQueue, spends: Sequence[RunSpend]) -> None:
    """Write what runs of this host spent; the same run twice counts once."""
    now = to_micros(queue.db.now())
    with queue.db.writing():
        for each in spends:
            values = {name: getattr(each, name) for name in RunSpend.__struct_fields__}
            values |= {"spend": msgspec.json.encode(each.spend).decode(), "now": now}
            queue.rows("hosts.share_spend", values)


def spends_elsewhere(
    queue: SqlQueue, host: str, day: str, since: datetime | None
) -> tuple[list[RunSpend], datetime | None]:
    """What other hosts' runs of a day spent, as far as written since a moment; and the moment to
    ask from next time.
    """
    after = to_micros(since - _OVERLAP) if since is not None else 0
    values = {"host": host, "day": day, "after": after}
    rows = queue.rows("hosts.spends_elsewhere", values)
    found: list[RunSpend] = []
    for task_id, run, other, project, account, value, _ in rows:
        try:
            spend = typed.decode(value, Spend)
        except msgspec.MsgspecError:
            continue  # of a later fleet
        found.append(
            RunSpend(
                task_id=task_id, run=run, day=day, host=other, project=project, account=account,
                spend=spend,
            )
        )  # fmt: skip
    return found, max((moment(row[-1]) for row in rows), default=since)
