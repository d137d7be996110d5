"""A box to write in: an answer, a message, a comment. Ctrl-S sends; Enter only breaks the line."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import TextArea

from fleet.tui.forms.form import Form
from fleet.tui.line_view import LineView
from fleet.tui.spans import SpanLine

_KEYS: SpanLine = (("Ctrl-S", "bold"), (" send  ", "dim"), ("Esc", "bold"), (" back, kept", "dim"))


class TextForm(Form[tuple[bool, str]]):
    """Ends in whether to send, and the text: what is not sent is kept as a draft."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+s", "send", "send"),
        ("escape", "leave", "back"),
    ]

    def __init__(self, title: str, about: Sequence[SpanLine], draft: str = "") -> None:
        super().__init__()
        self._title = title
        self._about = about
        self._draft = draft

    def compose(self) -> ComposeResult:
        with Vertical(classes="form"):
            yield LineView("form-about")
            yield TextArea(self._draft, id="form-text", tab_behavior="focus", compact=True)
            yield LineView("form-keys")

    def on_mount(self) -> None:
        about, box = self.query_one("#form-about", LineView), self.query_one(TextArea)
        lines: list[SpanLine] = [((self._title, "bold"),), *self._about]
        about.styles.height = min(len(lines), max(3, self.size.height // 2))
        about.show(lines)
        about.can_focus = len(lines) > self.size.height // 2
        keys = self.query_one("#form-keys", LineView)
        keys.can_focus = False
        keys.show([_KEYS])
        box.focus()
        box.move_cursor(box.document.end)

    def action_send(self) -> None:
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss((True, text.strip()))
        else:
            self.ring()

    def action_leave(self) -> None:
        self.dismiss((False, self.query_one(TextArea).text))
