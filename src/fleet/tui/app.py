"""`fleet top`: one app that knows what was read and what is chosen, with the parts that show that,
look around in it and act on it.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from fleet.control import Control
from fleet.control.view.now import Now, TaskRow
from fleet.home.looked_at import note_look
from fleet.tui.home_threads import HomeThread, NowThread, ScreenPost, Unread
from fleet.tui.key_table import KEYS, keys_here
from fleet.tui.line_view import LineView
from fleet.tui.look_keys import LookKeys
from fleet.tui.panes.other_views import OtherViews
from fleet.tui.panes.task_detail import TaskDetail
from fleet.tui.person_acts import PersonActs
from fleet.tui.screen_drawing import ScreenDrawing
from fleet.tui.spans import said
from fleet.tui.status_lines import tab_at, view_at

#: Sixteen colours of the terminal's own.
_STYLE = """
Screen { background: ansi_default; }
#top, #place, #said, #keys, #tabs, #form-keys { height: 1; }
#panes { height: 1fr; }
#list { width: 1fr; }
#right { width: 1fr; border-left: solid ansi_bright_black; padding-left: 1; }
.single #right { border-left: none; padding-left: 0; }
.below #panes { layout: vertical; }
.below #right { border-left: none; padding-left: 0; border-top: solid ansi_bright_black; }
.below #list, .below #right { width: 100%; }
#detail { height: 1fr; }
.hidden { display: none; }
ModalScreen { align: center middle; background: ansi_default 0%; }
.form { width: 90%; max-width: 100; height: auto; max-height: 96%; padding: 0 1;
        border: round ansi_magenta; background: ansi_default; }
.form.whole { height: 90%; }
.form TextArea { height: 8; border: solid ansi_bright_black; background: ansi_default; }
.form #description { height: 6; }
.form Input { background: ansi_default; border-bottom: solid ansi_bright_black; height: 2; }
.form .head { text-style: bold; }
.form .dim { text-style: dim; }
.line { dock: bottom; height: 1; background: ansi_default; }
.line Input { background: ansi_default; }
"""

_PARTS = ("top", "place", "list", "tabs", "detail", "said", "keys")
#: Seconds between two notes that a person looks at the screen.
_LOOKS = 20.0
#: Seconds until a task that the cursor passes is read.
_LINGER = 0.12


def _bindings() -> list[BindingType]:
    """Every key by its name in Textual; what the key does depends on where the person is."""
    names = dict.fromkeys(name for key in KEYS for name in key.names.split(","))
    return [Binding(name, f"press('{name}')", show=False, priority=name == "tab") for name in names]


class TopApp(App[None]):
    """`fleet top`."""

    BINDINGS: ClassVar[list[BindingType]] = _bindings()
    CSS = _STYLE
    ENABLE_COMMAND_PALETTE = False
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self,
        opened: Callable[[], Control],
        *,
        read_only: bool = False,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self._opened = opened
        self.clock = clock
        self.read_only = read_only
        self._views = {name: LineView(name) for name in _PARTS}
        self.now: Now | None = None
        self.problem = ""
        self.view = "now"
        self.wanted = ""
        self.marked: set[str] = set()
        self.is_open = False
        self.drawing = ScreenDrawing(self)
        self.looks = LookKeys(self)

    def compose(self) -> ComposeResult:
        yield self.lines("top")
        yield self.lines("place")
        with Horizontal(id="panes"):
            yield self.lines("list")
            with Vertical(id="right"):
                yield self.lines("tabs")
                yield self.lines("detail")
        yield self.lines("said")
        yield self.lines("keys")

    def on_mount(self) -> None:
        post = ScreenPost(asyncio.get_running_loop())
        self._reads = HomeThread(self._opened, post)
        self.detail = TaskDetail(self.ask, self.drawing.draw_detail)
        self.others = OtherViews(self.ask, self.drawing.draw)
        self.acts = PersonActs(self, HomeThread(self._opened, post))
        for name in ("top", "place", "tabs", "said", "keys"):
            self.lines(name).can_focus = False
        self.lines("list").focus()
        self._now_thread = NowThread(self._opened, post, self.take_now)
        self.set_interval(1.0, self.drawing.tick)
        self.set_interval(_LOOKS, self._note_look)
        self.drawing.lay_out()

    def action_press(self, name: str) -> None:
        """Do what a key does; of several actions, the one whose conditions are met now."""
        keys = [key for key in KEYS if name in key.names.split(",")]
        if len(keys) > 1:
            here = keys_here(self.drawing.here(), read_only=self.read_only)
            keys = [key for key in here if name in key.names.split(",")]
        if keys:
            keys[0].do(self)

    def lines(self, name: str) -> LineView:
        """One of the parts of the screen."""
        return self._views[name]

    def ask(
        self, slot: str, question: Callable[[Control], Any], tell: Callable[[Any], None]
    ) -> None:
        """Ask the home on another thread."""
        self._reads.submit(slot, question, tell)

    def look(self) -> None:
        """Read *now* anew at once."""
        self._now_thread.look()

    @property
    def busy_since(self) -> float | None:
        """Since when a read of *now* is under way, on the machine's monotonic clock."""
        return self._now_thread.busy_since

    def _note_look(self) -> None:
        """What is on a screen that a person looks at is not told on a phone."""
        if self.app_focus:
            self.ask("look", lambda fleet: note_look(fleet.home), lambda _: None)

    # What was read.

    def take_now(self, found: Now | Unread) -> None:
        """Show a new *now*, and ring for a question that is new."""
        if not self.is_running:
            return
        if isinstance(found, Unread):
            self.problem = f"{found.message}. {found.hint}"
        else:
            self.problem = ""
            asked = {row.id for row in self.now.rows if row.question} if self.now else None
            new = [row for row in found.rows if row.question and row.id not in (asked or ())]
            self.now = found
            self.marked &= {row.id for row in found.rows}
            if asked is not None and new and not self.app_focus:
                self._ring(new)
        self.others.home_changed(self.view)
        self.drawing.draw()
        if self.drawing.detail_in_sight():
            self.detail.choose(self.row())

    def _ring(self, new: Sequence[TaskRow]) -> None:
        """Bell and notification: fleet's own words alone, never those of an agent."""
        self.bell()
        if self._driver is not None and not self.is_headless:
            names = ", ".join(said(row.id) for row in new[:3])
            self._driver.write(f"\x1b]9;fleet: {names} asks\x07")

    def row(self) -> TaskRow | None:
        """The task under the cursor."""
        key = self.lines("list").cursor_key
        return next((row for row in self.now.rows if row.id == key), None) if self.now else None

    def chosen(self) -> list[TaskRow]:
        """The selected tasks, or the one under the cursor."""
        rows = self.now.rows if self.now else ()
        marked = [row for row in rows if row.id in self.marked]
        row = self.row()
        return marked or ([row] if row else [])

    # What happens.

    def on_resize(self, event: events.Resize) -> None:
        del event  # the app has its new size only afterwards
        self.call_after_refresh(self.drawing.lay_out)

    def on_line_view_cursor_moved(self, event: LineView.CursorMoved) -> None:
        if event.view.id == "list":
            self.drawing.draw_place()
            if self.drawing.detail_in_sight():
                self.lines("detail").following = False
                self.set_timer(_LINGER, lambda: self.looks.linger(event.key))

    def on_line_view_line_opened(self, event: LineView.LineOpened) -> None:
        if event.view.id == "list":
            self.looks.open_detail()
        elif event.view.id == "detail":
            self.detail.open_line(event.key)

    def on_line_view_at_edge(self, event: LineView.AtEdge) -> None:
        if event.view.id == "detail":
            self.detail.read_more(top=event.top)

    def on_click(self, event: events.Click) -> None:
        name = getattr(event.widget, "id", "")
        if name == "top" and (view := view_at(self.now, event.x)):
            self.looks.view(view)
        elif name == "tabs" and (tab := tab_at(event.x - 1)):
            self.looks.tab(tab)
