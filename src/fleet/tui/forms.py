"""What a person types: answers, messages, new tasks, commands, filters, the word that stops all."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from msgspec import Struct
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label, TextArea

from fleet.tui.line_view import LineView
from fleet.tui.spans import EMPTY, SpanLine, column, said

if TYPE_CHECKING:
    from fleet.tui.app import TopApp

Typed = TypeVar("Typed")
#: What is typed before everything is stopped.
WORD = "stop"
_TEXT_KEYS: SpanLine = (
    ("Ctrl-S", "bold"), (" send  ", "dim"), ("Esc", "bold"), (" back, kept", "dim"),
)  # fmt: skip
_TASK_KEYS: SpanLine = (
    ("Tab", "bold"), (" next field  ", "dim"), ("Ctrl-S", "bold"), (" create  ", "dim"),
    ("Esc", "bold"), (" back", "dim"),
)  # fmt: skip
#: The flags that the form of a new task asks for.
_FLAGS = ("coder", "model", "verify")
#: How many verbs the palette shows at once.
_SHOWN = 12


class Form(ModalScreen[Typed]):
    """A box over the screen that ends in what was typed."""

    def ring(self) -> None:
        """Ring the terminal's bell: the form cannot be sent like this."""
        self.app.bell()  # pyright: ignore[reportUnknownMemberType] - Textual leaves its app open


class FilterLine(Form[str]):
    """One line at the bottom, applied with each letter. Ends in the filter; Esc ends in none."""

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


class LinesPage(Form[None]):
    """A title and lines over the whole screen: the help. Esc, q and ? go back."""

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


class TextForm(Form[tuple[bool, str]]):
    """A box to write in: Ctrl-S sends, Enter only breaks the line. Ends in whether to send, and the
    text: what is not sent is kept as a draft.
    """

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
        keys.show([_TEXT_KEYS])
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


class NewTaskForm(Form[Mapping[str, object] | None]):
    """A new task with the settings that are asked for most. Ends in the fields of the act
    `create`.
    """

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
        keys.show([_TASK_KEYS])
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
    """`:` and Ctrl-K: every verb, found by a few letters, with the verb's command line."""

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
