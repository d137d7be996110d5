"""Pauses between tries of something that fails."""

from datetime import timedelta
from typing import Generic, TypeVar

from msgspec import Struct

Pause = TypeVar("Pause", float, timedelta)

#: Keeps a count of failures from overflowing a timedelta.
_MOST_DOUBLINGS = 10


class Backoff(Struct, Generic[Pause], frozen=True):
    """A first pause, doubled with each failure in a row up to the longest."""

    first: Pause
    longest: Pause

    def pause(self, failures: int) -> Pause:
        """The pause after a failure that followed `failures` others in a row."""
        return min(self.first * 2 ** min(failures, _MOST_DOUBLINGS), self.longest)

    def after(self, pause: Pause) -> Pause:
        """The pause after a failure that followed this pause; of 0 the first."""
        return min(max(self.first, pause * 2), self.longest)
