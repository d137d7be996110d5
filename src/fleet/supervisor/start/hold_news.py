"""Which holds the log tells of already: one line for a hold, however many tasks wait for it."""

from datetime import datetime, timedelta

#: A hold that goes on is met again within this time after the moment at which it was to end.
_MET_AGAIN = timedelta(minutes=1)


class HoldNews:
    """The reasons for which tasks were put off, each with its latest end."""

    def __init__(self) -> None:
        self._ends: dict[str, datetime] = {}

    def is_news(self, why: str, until: datetime | None, now: datetime) -> bool:
        """Take in that a task was put off; returns whether no other was for this reason lately."""
        self._ends = {each: end for each, end in self._ends.items() if end + _MET_AGAIN > now}
        news = why not in self._ends
        self._ends[why] = max(until or now, self._ends.get(why, now))
        return news
