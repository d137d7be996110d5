"""What the screen of `fleet top` shows: two panes, the lines around them, and what they read."""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical

from fleet.control import Control
from fleet.control.view.now import Now, TaskRow
from fleet.home.looked_at import note_look
from fleet.tui.home_threads import HomeThread, Job, NowThread, ScreenPost, Unread
from fleet.tui.key_table import keys_line
from fleet.tui.line_view import LineView
from fleet.tui.listing import Listing
from fleet.tui.panes.other_views import OtherViews
from fleet.tui.panes.task_detail import TaskDetail
from fleet.tui.person_acts import PersonActs
from fleet.tui.screen_style import STYLE
from fleet.tui.spans import Line, clipped, said
from fleet.tui.status_lines import VIEWS, place_line, tab_line, top_line, trouble_of
from fleet.tui.views.now_list import now_listing
from fleet.tui.views.patch_lines import SPLIT_FROM
from fleet.tui.views.question_list import question_listing, question_page

#: From this width on list and detail stand beside each other; on a narrower screen from this
#: height on below each other. The share of the list, in percent.
_BESIDE, _BELOW, _LIST_SHARE = 140, 34, 48
_PARTS = ("top", "place", "list", "tabs", "detail", "said", "keys")
#: The tabs that tell how long ago something was.
_WITH_AGES = ("receipt", "runs")
#: Seconds between two notes that a person looks at the screen.
_LOOKS = 20.0


class TopScreen(App[None]):
    """The screen, and what was last read. Keys are bound by `TopApp`."""

    CSS = STYLE
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
        #: What the right side showed last: something else is shown from its beginning.
        self._shown_detail = ("", "", "")

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
        self._acts = HomeThread(self._opened, post)
        self.detail = TaskDetail(self.ask, self.draw_detail)
        self.others = OtherViews(self.ask, self.draw)
        self.acts = PersonActs(self, self._acts)
        for name in ("top", "place", "tabs", "said", "keys"):
            self.lines(name).can_focus = False
        self.lines("list").focus()
        self._looks = NowThread(self._opened, post, self.take_now)
        self.set_interval(1.0, self._tick)
        self.set_interval(_LOOKS, self._note_look)
        self._lay_out()

    def lines(self, name: str) -> LineView:
        """One of the parts of the screen."""
        return self._views[name]

    def ask(
        self, slot: str, question: Callable[[Control], Any], tell: Callable[[Any], None]
    ) -> None:
        """Ask the home on another thread."""
        self._reads.submit(slot, Job(question, tell))

    def look(self) -> None:
        """Read *now* anew at once."""
        self._looks.look()

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
        self.draw()
        if self._detail_in_sight():
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

    # Drawing.

    def draw(self) -> None:
        """Everything that depends on the time or on *now*."""
        view = self.lines("list")
        listing = self._listing(view.room)
        view.show(listing.lines, listing.keys)
        self._draw_top()
        self._draw_place()
        self.draw_detail()

    def _draw_top(self) -> None:
        line = top_line(self.now, self.view, self.size.width, self.clock())
        self.lines("top").show([line])

    def draw_detail(self) -> None:
        """The right side."""
        if not self._detail_in_sight():
            return
        view = self.lines("detail")
        self.lines("tabs").set_class(not self._has_tabs(), "hidden")
        self.lines("tabs").show([tab_line(self.detail.tab, view.room)])
        if self._has_tabs():
            follows = self.detail.tab == "transcript" and not self.detail.before
            view.following = view.following and follows
            listing = self.detail.listing(view.room, self.clock())
        else:
            listing = self._page(view.room)
        if self.detail.before and self._has_tabs():
            view.show_before(listing.lines, listing.keys)
        else:
            view.show(listing.lines, listing.keys)
        shown = (self.view, self.lines("list").cursor_key, self.detail.tab)
        if shown != self._shown_detail:
            self._shown_detail = shown
            if not view.following:
                view.to_end(top=True)
        self._draw_keys()

    def _listing(self, width: int) -> Listing:
        now = self.clock()
        if self.view in ("timeline", "usage", "log"):
            return self.others.listing(self.view, width, self.acts.done, now)
        if self.now is None:
            return Listing([((self.problem or "reading the queue …", "dim"),)])
        if self.view == "questions":
            return question_listing(self.now, now, width)
        return now_listing(self.now, now, width, wanted=self.wanted, marked=self.marked)

    def _page(self, width: int) -> Listing:
        """The right side of a view that is not about one task."""
        if self.view == "questions" and (row := self.row()) is not None:
            return Listing(question_page(row, width))
        return self.others.page(self.view, self.lines("list").cursor_key, width)

    def _draw_place(self) -> None:
        crumbs = [VIEWS[self.view]]
        key = self.lines("list").cursor_key
        if self.is_open and key:
            crumbs.append(said(key.replace("lane:", "slot ")))
            crumbs += [self.detail.tab] if self._has_tabs() else []
        busy = self._looks.busy_since
        trouble = trouble_of(self.now, time.monotonic() - busy if busy else None, self.problem)
        line = place_line(
            crumbs, trouble, self.size.width, wanted=self.wanted, marked=len(self.marked)
        )
        self.lines("place").show([line])
        self._draw_keys()

    def _draw_keys(self) -> None:
        width = self.size.width
        self.lines("keys").show([keys_line(self.here(), width, read_only=self.read_only)])

    def say(self, line: Line) -> None:
        """What the last act came to, above the keys."""
        self.lines("said").show([clipped(line, self.size.width)])

    def here(self) -> set[str]:
        """What keys need that is there now."""
        found = {"list"} if self.view == "now" and not self._in_detail() else set[str]()
        found |= {"transcript"} if self.view == "log" else set()
        row = self.row()
        if row is not None and self.view in ("now", "questions"):
            found.add("task")
            found |= {"question"} if row.question else set()
            found |= {"running"} if row.run is not None else set()
            found |= {"stands"} if row.run is None and row.group != "running" else set()
            found |= {"way_on"} if row.way_on is not None and row.way_on.verb else set()
        if self._two_panes() and self._right_in_use():
            found.add("two panes")
        if self._detail_in_sight() and self._has_tabs():
            found |= {"tabs", self.detail.tab}
            found |= {"foldable"} if self.detail.tab in ("transcript", "diff") else set()
            found |= self._found_in_detail()
        return found if "hits" in found else found | {"no hits"}

    def _found_in_detail(self) -> set[str]:
        """What keys need that belong to the pane of a transcript or a diff."""
        found = set[str]()
        if self.detail.tab == "transcript" and self._in_detail():
            found |= {"searchable"} | ({"hits"} if self.detail.transcript.hits else set())
        if self.detail.tab == "diff" and self.lines("detail").room >= SPLIT_FROM:
            found.add("wide diff")
        return found

    def _has_tabs(self) -> bool:
        return self.view == "now"

    def _arrangement(self) -> str:
        """Where the detail stands: beside the list, below, or in place of the list."""
        if self.size.width >= _BESIDE:
            return "beside"
        return "below" if self.size.height >= _BELOW else "single"

    def _two_panes(self) -> bool:
        return self._arrangement() != "single"

    def _right_in_use(self) -> bool:
        return self.view in ("now", "questions", "timeline")

    def _detail_in_sight(self) -> bool:
        return self._right_in_use() and (self._two_panes() or self.is_open)

    def _in_detail(self) -> bool:
        return self.is_open and self.lines("detail").has_focus

    def _lay_out(self) -> None:
        """Which panes are there, by the size of the screen and by what is open."""
        right, left = self.query_one("#right"), self.lines("list")
        shown, now = self._detail_in_sight(), self._arrangement()
        right.set_class(not shown, "hidden")
        left.set_class(self.is_open and not self._two_panes(), "hidden")
        for name in ("beside", "below", "single"):
            self.screen_stack[0].set_class(name == now, name)
        share = f"{_LIST_SHARE}%" if shown else "1fr"
        left.styles.width = share if now == "beside" else "1fr"
        left.styles.height = share if now == "below" else "1fr"
        if shown:
            self.detail.choose(self.row())
        self.call_after_refresh(self.draw)

    def _tick(self) -> None:
        """Once a second: ages grow, and a queue that does not answer is told."""
        if self.view in ("now", "questions"):
            listing = self._listing(self.lines("list").room)
            self.lines("list").show(listing.lines, listing.keys)
        if self._has_tabs() and self.detail.tab in _WITH_AGES:
            self.draw_detail()
        self._draw_top()
        self._draw_place()
