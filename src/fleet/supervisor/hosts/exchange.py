"""What this host tells the others with each beat, and hears of them.

The loop puts in and takes out; the heartbeat's thread carries it to the queue and back.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.hosts.shared_news import (
    HostNews,
    NewsReader,
    RunSpend,
    share_news,
    share_spends,
    spends_elsewhere,
)
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.live_lines import LivingRun, tell_runs
from fleet.spending.budgets import day_of

if TYPE_CHECKING:
    from fleet.schemas import Host


class Exchange:
    """Boxes for what runs spent and how they stand, and for news of keys and coders."""

    def __init__(self) -> None:
        self.spent: deque[RunSpend] = deque()
        self.spent_elsewhere: deque[RunSpend] = deque()
        self.news: deque[HostNews] = deque()
        self.news_elsewhere: deque[HostNews] = deque()
        #: The other hosts that are up, as of the last beat.
        self.others: Sequence[Host] = ()
        #: How runs of this host stand that the others do not know yet, and what they know.
        self.runs: deque[LivingRun] = deque()
        self.told_runs: Mapping[str, LivingRun] = {}
        self._spends_since: tuple[str, datetime | None] = ("", None)
        self._reader = NewsReader()

    def carry(self, queue: SqlQueue, host: str, now: datetime) -> None:
        """Write what is in the boxes for others, and fetch what is there for this host."""
        self._carry_spends(queue, host, day_of(now))
        if mine := list(self.news):
            share_news(queue, mine)
            for _ in mine:
                self.news.popleft()
        if living := list(self.runs):
            tell_runs(queue, living)
            for _ in living:
                self.runs.popleft()
        self.news_elsewhere.extend(self._reader.read(queue, host))
        self.others = host_table.others_up(queue, host)

    def _carry_spends(self, queue: SqlQueue, host: str, today: str) -> None:
        """Day budgets are for all hosts together: each tells the others what runs there spent."""
        if mine := list(self.spent):
            share_spends(queue, mine)
            for _ in mine:
                self.spent.popleft()
        day, since = self._spends_since
        since = since if day == today else None
        found, since = spends_elsewhere(queue, host, today, since)
        self._spends_since = (today, since)
        self.spent_elsewhere.extend(found)
