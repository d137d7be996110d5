"""A stretch of a task's transcript that grows both ways: only what was scrolled to is read; and a
search in the whole.
"""

from collections.abc import Callable

from fleet.control import Control
from fleet.control.view.task.read_transcript import read_transcript, search_transcript
from fleet.control.view.task.transcript import Transcript, TranscriptEntry, TranscriptHits, joined
from fleet.schemas.units import shown_size
from fleet.tui.home_threads import Unread
from fleet.tui.spans import Listing
from fleet.tui.views.transcript_lines import entry_of, transcript_listing

#: How many entries one read brings, and how many are kept in all.
_STEP, _KEPT = 200, 2000
#: More hits than this are not gone through one by one.
_MOST_HITS = 2000


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
        self._more = found.next_at is not None and len(self.hits) >= _MOST_HITS
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


class TranscriptPane:
    """The entries of one task that are in memory, and which of them a person turned."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.entries: list[TranscriptEntry] = []
        #: The stretch that is in memory, and the size of the whole, in bytes.
        self._start: int = 0
        self._end: int = 0
        self._size: int = 0
        self._read = False
        self._problem = ""
        self._turned: set[str] = set()
        self._all_open = False
        #: What the person searches for here.
        self.search = TranscriptSearch(task_id)

    @property
    def has_earlier(self) -> bool:
        return self._read and self._start > 0

    @property
    def has_later(self) -> bool:
        return self._read and self._end < self._size

    def newer(self) -> Callable[[Control], Transcript]:
        """The question for what is not there yet: the newest entries first of all."""
        return self.later() if self._read else self.last()

    def last(self) -> Callable[[Control], Transcript]:
        """The question for the newest entries."""
        return lambda fleet: read_transcript(fleet, self.task_id, at=None, limit=_STEP)

    def jump(self, *, top: bool) -> Callable[[Control], Transcript]:
        """Forget the stretch; returns the question for the first entries, or for the newest."""
        self.entries, self._read = [], False
        if not top:
            return self.last()
        return lambda fleet: read_transcript(fleet, self.task_id, at=0, limit=_STEP)

    def earlier(self) -> Callable[[Control], Transcript]:
        """The question for what stands before the first entry."""
        start = self._start
        return lambda fleet: read_transcript(fleet, self.task_id, at=start, limit=_STEP, back=True)

    def later(self) -> Callable[[Control], Transcript]:
        """The question for what came after the last entry."""
        end = self._end
        return lambda fleet: read_transcript(fleet, self.task_id, at=end, limit=_STEP)

    def take(self, found: Transcript | Unread) -> bool:
        """Take in what was read; returns whether that stands before the rest."""
        if isinstance(found, Unread):
            self._problem = f"{found.message}. {found.hint}"
            return False
        self._problem = ""
        before = self._read and found.end == self._start and found.start < self._start
        if before:
            self.entries = list(joined([*found.entries, *self.entries]))
            self._start = found.start
        elif self._read and found.start == self._end:
            self.entries = list(joined([*self.entries, *found.entries]))
            self._end = found.end
        elif not self._read:
            self.entries = list(found.entries)
            self._start, self._end = found.start, found.end
        self._size = max(found.size, self._end)
        self._read = True
        self._forget(before=before)
        return before

    def begin_search(self, wanted: str) -> None:
        """Search for something else; from the first entry in memory on."""
        self.search = TranscriptSearch(self.task_id, wanted, self._start)

    def next_hit(self, step: int) -> tuple[str, Callable[[Control], Transcript] | None]:
        """The first line of the hit that is `step` hits on, and what has to be read to show that
        line.
        """
        at = self.search.go(step)
        key = f"{at}.0/0"
        if any(entry.at == at for entry in self.entries):
            return key, None
        self.entries, self._read = [], False
        return key, lambda fleet: read_transcript(fleet, self.task_id, at=at, limit=_STEP)

    def turn(self, line_key: str) -> None:
        """Open an entry that is folded, or fold it."""
        self._turned ^= {entry_of(line_key)}

    def turn_all(self) -> None:
        """Open every entry, or fold them as they are by themselves."""
        self._all_open = not self._all_open
        self._turned.clear()

    def listing(self, width: int) -> Listing:
        above = below = ""
        if self._problem:
            above = self._problem
        elif not self._read:
            above = "… is read"
        elif not self.entries:
            above = "The agent has said nothing yet."
        elif self._start > 0:
            above = f"… {shown_size(self._start)} before this: g goes up"
        if self.entries and self.has_later:
            below = f"… {shown_size(self._size - self._end)} after this: G goes down"
        return transcript_listing(
            self.entries, width,
            turned=self._turned, all_open=self._all_open, above=above, below=below,
            wanted=self.search.wanted,
        )  # fmt: skip

    def _forget(self, *, before: bool) -> None:
        """Keep the stretch bounded: let go of the end that is far away."""
        too_many = len(self.entries) - _KEPT
        if too_many <= 0:
            return
        if before:
            del self.entries[-too_many:]
            self._end = self.entries[-1].at  # read again from there
            while self.entries and self.entries[-1].at >= self._end:
                self.entries.pop()
        else:
            del self.entries[:too_many]
            self._start = self.entries[0].at
