"""Lines with what each stands for: what a view gives the screen to show. Pure."""

from collections.abc import Callable, Sequence
from typing import overload

from msgspec import Struct

from fleet.tui.spans import EMPTY, SpanLine


class LazyLines(Sequence[SpanLine]):
    """Lines that are made when they are first looked at: of a long list only what is in sight."""

    def __init__(self, makers: Sequence[SpanLine | Callable[[], SpanLine]]) -> None:
        self._makers = makers
        self._made: dict[int, SpanLine] = {}

    def __len__(self) -> int:
        return len(self._makers)

    @overload
    def __getitem__(self, index: int) -> SpanLine: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SpanLine]: ...
    def __getitem__(self, index: int | slice) -> SpanLine | Sequence[SpanLine]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if index not in self._made:
            maker = self._makers[index]
            self._made[index] = maker() if callable(maker) else maker
        return self._made[index]


class Listing(Struct, frozen=True):
    """Lines, and the key of each; a line with an empty key cannot be chosen."""

    lines: Sequence[SpanLine] = ()
    keys: Sequence[str] = ()


class ListingDraft:
    """A listing in the making."""

    def __init__(self) -> None:
        self._lines: list[SpanLine | Callable[[], SpanLine]] = []
        self._keys: list[str] = []

    def add(self, line: SpanLine | Callable[[], SpanLine] = EMPTY, key: str = "") -> None:
        self._lines.append(line)
        self._keys.append(key)

    def done(self) -> Listing:
        return Listing(LazyLines(self._lines), self._keys)
