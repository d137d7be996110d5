"""`:` and Ctrl-K: every verb, found by a few letters, with the verb's command line."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from fleet.tui.forms.form import Form
from fleet.tui.line_view import LineView
from fleet.tui.spans import SpanLine, column, said

if TYPE_CHECKING:
    from fleet.tui.app import TopApp

_SHOWN = 12


class PaletteEntry(Struct, frozen=True):
    """A verb that can be chosen: name, command line, and what its key does."""

    name: str
    line: str
    do: Callable[["TopApp"], None]


def found_entries(entries: Sequence[PaletteEntry], typed: str) -> list[PaletteEntry]:
    """The entries whose name or line holds every typed word, those that begin so first."""
    words = typed.lower().split()
    hits = [
        each
        for each in entries
        if all(word in each.name.lower() or word in each.line.lower() for word in words)
    ]
    return sorted(hits, key=lambda each: not each.name.lower().startswith(typed.strip().lower()))


class Palette(Form[PaletteEntry | None]):
    """Ends in the chosen entry."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "dismiss(None)", "back"),
        ("down,ctrl+n", "move(1)", "next"),
        ("up,ctrl+p", "move(-1)", "previous"),
    ]

    def __init__(self, entries: Sequence[PaletteEntry]) -> None:
        super().__init__()
        self._entries = entries
        self._found: list[PaletteEntry] = list(entries)

    def compose(self) -> ComposeResult:
        with Vertical(classes="form"):
            yield Input(placeholder="stop, retry, diff, …", id="command", compact=True)
            yield LineView("entries")

    def on_mount(self) -> None:
        self.query_one("#entries", LineView).styles.height = min(_SHOWN, self.size.height - 6)
        self.query_one(Input).focus()
        self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._found = found_entries(self._entries, event.value)
        self._show()

    def on_input_submitted(self) -> None:
        self._choose(self.query_one("#entries", LineView).cursor_key)

    def on_line_view_line_opened(self, event: LineView.LineOpened) -> None:
        self._choose(event.key)

    def action_move(self, step: int) -> None:
        self.query_one("#entries", LineView).move(step)

    def _choose(self, name: str) -> None:
        entry = next((each for each in self._found if each.name == name), None)
        if entry is None:
            self.ring()
        else:
            self.dismiss(entry)

    def _show(self) -> None:
        view = self.query_one("#entries", LineView)
        lines: list[SpanLine] = [
            ((column(each.name, 20), "bold"), (said(each.line), "dim")) for each in self._found
        ]
        none: list[SpanLine] = [(("no such command; Esc goes back", "dim"),)]
        view.show(lines or none, [each.name for each in self._found])
