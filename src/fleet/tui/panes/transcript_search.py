"""A search in a whole transcript: where the text stands, and which of the hits the person is at."""

from collections.abc import Callable

from fleet.control import Control
from fleet.control.view.task.read_transcript import search_transcript
from fleet.control.view.task.transcript import TranscriptHits
from fleet.tui.home_threads import Unread

#: More hits than this are not gone through one by one.
_MOST = 2000


class TranscriptSearch:
    """One search. Hits are places in the file, in bytes, in their order."""

    def __init__(self, task_id: str, wanted: str = "", begin: int = 0) -> None:
        self._task_id = task_id
        self.wanted = wanted.strip()
        self.hits: list[int] = []
        self._begin = begin
        #: The hit that the person is at; None: at none yet.
        self._at: int | None = None
        self._next: int = 0
        self._problem = ""
        self._more = False

    def ask(self) -> Callable[[Control], TranscriptHits]:
        """The question for the next stretch."""
        at = self._next
        return lambda fleet: search_transcript(fleet, self._task_id, self.wanted, at=at)

    def take(self, found: TranscriptHits | Unread) -> bool:
        """Take in what was found; returns whether there is more to search."""
        if isinstance(found, Unread):
            self._problem = found.message
            return False
        if found.wanted != self.wanted:
            return False
        self.hits += [hit.at for hit in found.hits]
        self._next = found.next_at or 0
        self._more = found.next_at is not None and len(self.hits) >= _MOST
        return found.next_at is not None and not self._more

    def go(self, step: int) -> int:
        """The hit that is `step` hits on, round and round; the first time the first hit from where
        the person was, else the last one.
        """
        if self._at is None:
            ahead = (n for n, at in enumerate(self.hits) if at >= self._begin)
            self._at = next(ahead, len(self.hits) - 1)
        else:
            self._at = (self._at + step) % len(self.hits)
        return self.hits[self._at]

    def words(self) -> str:
        """How the search stands, for the person."""
        if self._problem:
            return self._problem
        if not self.hits:
            return "not found in the whole transcript"
        more = "+" if self._more else ""
        return f"hit {(self._at or 0) + 1} of {len(self.hits)}{more}: n next, N previous"
