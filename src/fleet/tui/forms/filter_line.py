"""The filter: one line at the bottom, applied with each letter."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Label

from fleet.tui.forms.form import Form


class FilterLine(Form[str]):
    """Ends in the filter; Esc ends in none."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss('')", "all")]

    def __init__(self, wanted: str, apply: Callable[[str], None]) -> None:
        super().__init__()
        self._wanted = wanted
        self._apply = apply

    def compose(self) -> ComposeResult:
        with Horizontal(classes="line"):
            yield Label("/")
            yield Input(self._wanted, id="filter", compact=True)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._apply(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
