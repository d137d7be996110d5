"""A word that has to be typed before everything is stopped."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from fleet.tui.forms.form import Form
from fleet.tui.line_view import LineView

WORD = "stop"


class WordForm(Form[bool]):
    """Ends in True once the word was typed and sent."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(False)", "back")]

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical(classes="form short"):
            yield LineView("form-about")
            yield Input(id="form-word", compact=True)

    def on_mount(self) -> None:
        about = self.query_one(LineView)
        about.can_focus = False
        about.styles.height = 2
        hint = f"Type {WORD} and Enter; Esc goes back."
        about.show([((self._words, "bold red"),), ((hint, ""),)])
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip().lower() == WORD:
            self.dismiss(True)
        else:
            event.input.value = ""
            self.ring()
