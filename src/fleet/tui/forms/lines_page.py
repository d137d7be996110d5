"""Lines over the whole screen until a key is pressed: the help."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from fleet.tui.forms.form import Form
from fleet.tui.line_view import LineView
from fleet.tui.spans import EMPTY, SpanLine


class LinesPage(Form[None]):
    """A title and lines; Esc, q and ? go back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark", "dismiss", "back"),
        ("j,down", "move(1)", "down"),
        ("k,up", "move(-1)", "up"),
        ("pagedown,space", "page(1)", "a screen down"),
        ("pageup", "page(-1)", "a screen up"),
    ]

    def __init__(self, title: str, lines: Sequence[SpanLine]) -> None:
        super().__init__()
        self._lines = [((title, "bold"),), EMPTY, *lines]

    def compose(self) -> ComposeResult:
        with Vertical(classes="form whole"):
            yield LineView("page-lines")

    def on_mount(self) -> None:
        view = self.query_one(LineView)
        view.show(self._lines)
        view.focus()

    def action_move(self, step: int) -> None:
        self.query_one(LineView).move(step)

    def action_page(self, direction: int) -> None:
        self.query_one(LineView).page(direction)
