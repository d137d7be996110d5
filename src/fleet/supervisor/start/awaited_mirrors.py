"""Tasks whose mirror is just being fetched for another task of this host: they are claimed again
once that fetch has ended.
"""

from collections import Counter, defaultdict


class AwaitedMirrors:
    """Which tasks wait for which address."""

    def __init__(self) -> None:
        #: How many fetches of an address have ended.
        self._ends: Counter[str] = Counter()
        self._waiting: defaultdict[str, set[str]] = defaultdict(set)

    def ends(self, url: str) -> int:
        """A mark of now, for `wait`."""
        return self._ends[url]

    def wait(self, url: str, task_id: str, since: int) -> bool:
        """The task waits for the fetch; False: one has ended since that mark."""
        if self._ends[url] != since:
            return False
        self._waiting[url].add(task_id)
        return True

    def ended(self, url: str) -> tuple[str, ...]:
        """A fetch has ended, one way or the other: the tasks that wait for it no longer."""
        self._ends[url] += 1
        return tuple(self._waiting.pop(url, ()))
