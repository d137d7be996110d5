"""A new task: title, directory, description, and the settings that are asked for most."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label, TextArea

from fleet.tui.forms.form import Form
from fleet.tui.line_view import LineView
from fleet.tui.spans import SpanLine

_KEYS: SpanLine = (
    ("Tab", "bold"), (" next field  ", "dim"), ("Ctrl-S", "bold"), (" create  ", "dim"),
    ("Esc", "bold"), (" back", "dim"),
)  # fmt: skip
_FLAGS = ("coder", "model", "verify")


class NewTaskForm(Form[Mapping[str, object] | None]):
    """Ends in the fields of the act `create`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("ctrl+s", "create", "create"),
        ("escape", "dismiss(None)", "back"),
    ]

    def __init__(self, projects: Sequence[str], coders: Sequence[str]) -> None:
        super().__init__()
        self._projects = projects
        self._coders = coders

    def compose(self) -> ComposeResult:
        project = self._projects[0] if self._projects else ""
        with Vertical(classes="form"):
            yield Label("New task", classes="head")
            yield Input(placeholder="title", id="title", compact=True)
            yield Input(
                project, placeholder="directory", id="cwd", compact=True,
                suggester=SuggestFromList(self._projects),
            )  # fmt: skip
            yield Label("description:", classes="dim")
            yield TextArea(id="description", tab_behavior="focus", compact=True)
            known = ", ".join(self._coders)
            yield Input(
                placeholder=f"coder, if not the usual one ({known})", id="coder", compact=True,
                suggester=SuggestFromList(self._coders),
            )  # fmt: skip
            yield Input(placeholder="model, if not the usual one", id="model", compact=True)
            yield Input(placeholder="verify command", id="verify", compact=True)
            yield LineView("form-keys")

    def on_mount(self) -> None:
        keys = self.query_one("#form-keys", LineView)
        keys.can_focus = False
        keys.show([_KEYS])
        self.query_one("#title", Input).focus()

    def on_input_submitted(self) -> None:
        """Enter goes to the next field: no form is sent untouched."""
        self.focus_next()

    def action_create(self) -> None:
        title, cwd = self._typed("title"), self._typed("cwd")
        if not title or not cwd:
            self.query_one(f"#{'cwd' if title else 'title'}", Input).focus()
            self.ring()
            return
        flags = {name: text for name in _FLAGS if (text := self._typed(name))}
        text = self.query_one(TextArea).text.strip()
        self.dismiss({"title": title, "cwd": cwd, "description": text, "flags": flags})

    def _typed(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()
