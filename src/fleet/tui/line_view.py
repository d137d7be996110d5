"""The one widget that shows things: lines that are drawn when they come into sight, with a cursor
where lines can be chosen.
"""

from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fleet.tui.spans import EMPTY, SpanLine, plain

#: How many columns a key to the right or left shifts long lines by.
_SHIFT = 16


class LineView(ScrollView, can_focus=True):
    """Lines, one a row. `keys` names the lines that a cursor can stand on; the empty text names
    none. Lines are looked at only while they are in sight.
    """

    DEFAULT_CSS = """
    LineView {
        scrollbar-size-vertical: 1; overflow-x: hidden; background: ansi_default;
        scrollbar-color: ansi_bright_black; scrollbar-background: ansi_default;
        scrollbar-color-hover: ansi_white; scrollbar-background-hover: ansi_default;
        scrollbar-color-active: ansi_white; scrollbar-background-active: ansi_default;
    }
    """

    class CursorMoved(Message):
        """The cursor stands on another line."""

        def __init__(self, view: "LineView", key: str) -> None:
            super().__init__()
            self.view, self.key = view, key

    class LineOpened(Message):
        """The line under the cursor was chosen: Enter, or a click."""

        def __init__(self, view: "LineView", key: str) -> None:
            super().__init__()
            self.view, self.key = view, key

    class AtEdge(Message):
        """The first or the last line came into sight."""

        def __init__(self, view: "LineView", *, top: bool) -> None:
            super().__init__()
            self.view, self.top = view, top

    def __init__(self, id: str) -> None:  # noqa: A002 - the name is Textual's
        super().__init__(id=id)
        self._lines: Sequence[SpanLine] = ()
        self._keys: Sequence[str] = ()
        self._cursor = -1
        self._shift = 0
        #: The end stays in sight while lines are added.
        self.following = False

    @property
    def cursor_key(self) -> str:
        """What the cursor stands on; empty: nothing."""
        return self._keys[self._cursor] if 0 <= self._cursor < len(self._keys) else ""

    @property
    def room(self) -> int:
        """How many columns a line may have, beside a scroll bar."""
        return max(1, self.size.width - 1)

    def show(self, lines: Sequence[SpanLine], keys: Sequence[str] = ()) -> None:
        """Show other lines. The cursor stays on its key, at its height on the screen."""
        before, top, old = self.cursor_key, round(self.scroll_y), self._lines
        height = self._cursor - top
        self._lines, self._keys = lines, keys
        self._cursor = _found(keys, before, self._cursor)
        self.virtual_size = Size(self.room, len(lines))
        if self.following:
            self.scroll_end(animate=False, immediate=True)
        elif before and self.cursor_key == before and 0 <= height < self.size.height:
            self._go_to(self._cursor - height)
        if round(self.scroll_y) != top or len(lines) != len(old):
            self.refresh()
        else:
            self._refresh_changed(old, top)
        if self.cursor_key != before:
            self.post_message(self.CursorMoved(self, self.cursor_key))

    def show_before(self, lines: Sequence[SpanLine], keys: Sequence[str]) -> None:
        """Show lines that begin earlier than before: what is in sight stays in place."""
        added = len(lines) - len(self._lines)
        top, self._cursor = round(self.scroll_y) + added, self._cursor + added
        self._lines, self._keys = lines, keys
        self.virtual_size = Size(self.room, len(lines))
        self._go_to(top)
        self.refresh()

    def move(self, step: int) -> None:
        """Move the cursor, or scroll where there is none."""
        if not any(self._keys):
            self.scroll_relative(y=step, animate=False, immediate=True)
            self._tell_edge()
            return
        at, to = self._cursor, self._cursor
        while 0 <= at + step < len(self._keys):
            at += step
            if self._keys[at]:
                to = at
                break
        self._stand(to)

    def page(self, direction: int) -> None:
        """Move by what fits on the screen."""
        rows = max(1, self.size.height - 1) * direction
        if not any(self._keys):
            self.move(rows)
            return
        wanted = max(0, min(len(self._keys) - 1, self._cursor + rows))
        self._stand(_nearest(self._keys, wanted, direction))

    def to_end(self, *, top: bool = False) -> None:
        """The first or the last line."""
        if any(self._keys):
            choices = [at for at, key in enumerate(self._keys) if key]
            self._stand(choices[0 if top else -1])
        if top:
            self._go_to(0)
        else:
            self.scroll_end(animate=False, immediate=True)
        self._tell_edge()

    def stand_on(self, key: str) -> None:
        """Move the cursor to a key, if it is there."""
        if key in self._keys:
            self._stand(list(self._keys).index(key))

    def shift(self, direction: int) -> None:
        """Show what stands further to the right of long lines, or go back."""
        self._shift = max(0, self._shift + direction * _SHIFT)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + round(self.scroll_y)
        width = self.size.width
        if not 0 <= at < len(self._lines):
            return Strip.blank(width)
        line = self._lines[at]
        if at != self._cursor or not self._keys:
            segments = [Segment(text, style_of(style)) for text, style in line]
            return Strip(segments).crop_extend(self._shift, self._shift + width, None)
        # The line under the cursor has one colour: a reversed patchwork cannot be read.
        style = style_of("reverse" if self.has_focus else "reverse dim")
        strip = Strip([Segment(plain(line), style)])
        return strip.crop_extend(self._shift, self._shift + width, style)

    def text(self) -> str:
        """All lines as text, for tests and for the clipboard."""
        return "\n".join(plain(line).rstrip() for line in self._lines)

    def on_click(self, event: events.Click) -> None:
        at = event.y + round(self.scroll_y)
        if 0 <= at < len(self._keys) and self._keys[at]:
            again = at == self._cursor
            self._stand(at)
            if again:
                self.post_message(self.LineOpened(self, self._keys[at]))

    def on_mouse_scroll_up(self) -> None:
        self.following = False
        self._tell_edge()

    def on_mouse_scroll_down(self) -> None:
        self._tell_edge()

    def on_focus(self) -> None:
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        self._refresh_row(self._cursor)

    def open_cursor(self) -> None:
        """Choose what the cursor stands on."""
        if self.cursor_key:
            self.post_message(self.LineOpened(self, self.cursor_key))

    def _stand(self, at: int) -> None:
        if at == self._cursor or not 0 <= at < len(self._keys):
            return
        before, self._cursor = self._cursor, at
        top, height = round(self.scroll_y), max(1, self.size.height)
        first = 0 if not any(self._keys[:at]) else at  # the heading above the first line, too
        if first < top:
            self._go_to(first)
        elif at >= top + height:
            self._go_to(at - height + 1)
        self._refresh_row(before)
        self._refresh_row(at)
        self.post_message(self.CursorMoved(self, self.cursor_key))

    def _go_to(self, top: int) -> None:
        self.scroll_to(y=max(0, top), animate=False, immediate=True, force=True)

    def _tell_edge(self) -> None:
        top = round(self.scroll_y)
        if top <= 0:
            self.post_message(self.AtEdge(self, top=True))
        if top + self.size.height >= len(self._lines):
            self.post_message(self.AtEdge(self, top=False))

    def _refresh_changed(self, old: Sequence[SpanLine], top: int) -> None:
        """Draw only the rows in sight that are not as they were."""
        for at in range(top, min(top + self.size.height, len(self._lines))):
            if self._lines[at] != (old[at] if at < len(old) else EMPTY):
                self._refresh_row(at)

    def _refresh_row(self, at: int) -> None:
        y = at - round(self.scroll_y)
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))


@lru_cache(maxsize=256)
def style_of(name: str) -> Style:
    """The style of a span."""
    return Style.parse(name) if name else Style.null()


def _found(keys: Sequence[str], key: str, near: int) -> int:
    """The line of a key; if that is gone, the nearest line that can be chosen."""
    if not any(keys):
        return -1
    if key and key in keys:
        return list(keys).index(key)
    return _nearest(keys, min(max(near, 0), len(keys) - 1), 1)


def _nearest(keys: Sequence[str], at: int, direction: int) -> int:
    ahead = range(at, len(keys)) if direction > 0 else range(at, -1, -1)
    behind = range(at, -1, -1) if direction > 0 else range(at, len(keys))
    return next((each for each in (*ahead, *behind) if keys[each]), -1)
