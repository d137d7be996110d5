"""How a train is put together and taken apart: rules over the ids of tasks and trees. Pure.

Candidates that wait are verified together. If that fails the batch is split in two, and the part
that fails is split again until one candidate is found; no candidate that came later joins such a
part, so that one broken candidate cannot hold up those behind it again and again.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

#: What an older candidate counts for, with each that came after it: about twenty are remembered.
_FADES = 0.95


class FailingShare(Struct, frozen=True):
    """How many of the last candidates failed, by weight; at first one of ten is expected to."""

    landed: float = 9.0
    failed: float = 1.0

    def after(self, count: int, *, green: bool) -> "FailingShare":
        """With `count` more candidates that landed, or that failed by themselves."""
        landed, failed = self.landed, self.failed
        for _ in range(count):
            landed, failed = landed * _FADES + green, failed * _FADES + (not green)
        return FailingShare(landed, failed)

    def batch_size(self, limit: int) -> int:
        """How many candidates the next batch has: as many as make it about as likely to pass
        as to fail. Then a verify run tells the most; with more, batches fail that have to be split.
        """
        share = self.failed / (self.landed + self.failed)
        fitting = math.log(0.5) / math.log1p(-share) if 0 < share < 1 else limit * (share <= 0)
        return max(1, min(round(min(fitting, limit)), limit))


class Parts(Struct, frozen=True):
    """The parts of a batch that are still to be tried, in order.

    Each part but the first is expected to fail once the parts before it have landed: the larger
    part that held all of them failed.
    """

    waiting: tuple[tuple[str, ...], ...]
    #: Parts that no failure speaks against any more: they wait for the next batch.
    freed: tuple[tuple[str, ...], ...] = ()

    @property
    def first(self) -> tuple[str, ...]:
        return self.waiting[0] if self.waiting else ()

    @property
    def rest(self) -> "Parts":
        """Without the first part, which has landed."""
        return Parts(self.waiting[1:], self.freed)

    @property
    def others(self) -> "Parts":
        """All but the first part, which is not to blame; neither is any other."""
        return Parts((*self.waiting[1:], *self.freed))

    def without(self, task_ids: Iterable[str]) -> "Parts":
        """Without candidates that left the train: a conflict, or a person held them."""
        gone = frozenset(task_ids)
        kept = [tuple(each for each in part if each not in gone) for part in self.waiting]
        return Parts(tuple(part for part in kept if part), self.freed)

    def split(self) -> "Parts":
        """The first part, which failed, as two. Its failure explains that of the batch, so the
        parts behind it are freed. A part of one candidate is gone: the candidate goes back.
        """
        part = self.first
        middle = (len(part) + 1) // 2
        halves = (part[:middle], part[middle:]) if len(part) > 1 else ()
        return Parts(halves, (*self.waiting[1:], *self.freed))


def batch(waiting: Sequence[str], size: int) -> Parts:
    """The candidates to begin with, of those that wait, in the order of the queue."""
    first = tuple(waiting[: max(1, size)])
    return Parts((first,) if first else ())
