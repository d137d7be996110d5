"""Draws the screen: which panes are in sight, the lines around them, the list and the detail."""

import time
from typing import TYPE_CHECKING

from fleet.tui.key_table import keys_line
from fleet.tui.spans import Listing, SpanLine, clipped, said
from fleet.tui.status_lines import VIEWS, place_line, tab_line, top_line, trouble_of
from fleet.tui.views.now_list import now_listing, question_listing, question_page
from fleet.tui.views.patch_lines import SPLIT_FROM

if TYPE_CHECKING:
    from fleet.tui.app import TopApp

#: From this width on list and detail stand beside each other; on a narrower screen from this
#: height on below each other. The share of the list, in percent.
_BESIDE, _BELOW, _LIST_SHARE = 140, 34, 48
#: The tabs that tell how long ago something was.
_WITH_AGES = ("receipt", "runs")


class ScreenDrawing:
    """The list, the detail beside the list, below, or in place of the list; and what is shown there
    of what the app knows.
    """

    def __init__(self, app: "TopApp") -> None:
        self._app = app
        #: What the right side showed last: something else is shown from its beginning.
        self._shown_detail = ("", "", "")

    def draw(self) -> None:
        """Everything that depends on the time or on *now*."""
        view = self._app.lines("list")
        listing = self._listing(view.room)
        view.show(listing.lines, listing.keys)
        self.draw_top()
        self.draw_place()
        self.draw_detail()

    def draw_top(self) -> None:
        app = self._app
        line = top_line(app.now, app.view, app.size.width, app.clock())
        app.lines("top").show([line])

    def draw_detail(self) -> None:
        """The right side."""
        app = self._app
        if not self.detail_in_sight():
            return
        view = app.lines("detail")
        app.lines("tabs").set_class(not self.has_tabs(), "hidden")
        app.lines("tabs").show([tab_line(app.detail.tab, view.room)])
        if self.has_tabs():
            follows = app.detail.tab == "transcript" and not app.detail.before
            view.following = view.following and follows
            listing = app.detail.listing(view.room, app.clock())
        else:
            listing = self._page(view.room)
        if app.detail.before and self.has_tabs():
            view.show_before(listing.lines, listing.keys)
        else:
            view.show(listing.lines, listing.keys)
        shown = (app.view, app.lines("list").cursor_key, app.detail.tab)
        if shown != self._shown_detail:
            self._shown_detail = shown
            if not view.following:
                view.to_end(top=True)
        self._draw_keys()

    def _listing(self, width: int) -> Listing:
        app = self._app
        now = app.clock()
        if app.view in ("timeline", "usage", "log"):
            return app.others.listing(app.view, width, app.acts.done, now)
        if app.now is None:
            return Listing([((app.problem or "reading the queue …", "dim"),)])
        if app.view == "questions":
            return question_listing(app.now, now, width)
        return now_listing(app.now, now, width, wanted=app.wanted, marked=app.marked)

    def _page(self, width: int) -> Listing:
        """The right side of a view that is not about one task."""
        app = self._app
        if app.view == "questions" and (row := app.row()) is not None:
            return Listing(question_page(row, width))
        return app.others.page(app.view, app.lines("list").cursor_key, width)

    def draw_place(self) -> None:
        app = self._app
        crumbs = [VIEWS[app.view]]
        key = app.lines("list").cursor_key
        if app.is_open and key:
            crumbs.append(said(key.replace("lane:", "slot ")))
            crumbs += [app.detail.tab] if self.has_tabs() else []
        busy = app.busy_since
        trouble = trouble_of(app.now, time.monotonic() - busy if busy else None, app.problem)
        line = place_line(
            crumbs,
            trouble,
            app.size.width,
            wanted=app.wanted,
            marked=len(app.marked),
        )
        app.lines("place").show([line])
        self._draw_keys()

    def _draw_keys(self) -> None:
        app = self._app
        width = app.size.width
        app.lines("keys").show([keys_line(self.here(), width, read_only=app.read_only)])

    def say(self, line: SpanLine) -> None:
        """What the last act came to, above the keys."""
        self._app.lines("said").show([clipped(line, self._app.size.width)])

    def tick(self) -> None:
        """Once a second: ages grow, and a queue that does not answer is told."""
        app = self._app
        if app.view in ("now", "questions"):
            listing = self._listing(app.lines("list").room)
            app.lines("list").show(listing.lines, listing.keys)
        if self.has_tabs() and app.detail.tab in _WITH_AGES:
            self.draw_detail()
        self.draw_top()
        self.draw_place()

    # Which panes are in sight, and what keys find there.

    def here(self) -> set[str]:
        """The conditions of keys that are met now, by the names of `key_table`."""
        app = self._app
        found = {"list"} if app.view == "now" and not self.in_detail() else set[str]()
        found |= {"transcript"} if app.view == "log" else set()
        row = app.row()
        if row is not None and app.view in ("now", "questions"):
            found.add("task")
            found |= {"question"} if row.question else set()
            found |= {"running"} if row.run is not None else set()
            found |= {"stands"} if row.run is None and row.group != "running" else set()
            found |= {"way_on"} if row.way_on is not None and row.way_on.verb else set()
        if self.two_panes() and self.right_in_use():
            found.add("two panes")
        if self.detail_in_sight() and self.has_tabs():
            found |= {"tabs", app.detail.tab}
            found |= {"foldable"} if app.detail.tab in ("transcript", "diff") else set()
            found |= self._found_in_detail()
        return found if "hits" in found else found | {"no hits"}

    def _found_in_detail(self) -> set[str]:
        """What keys need that belong to the pane of a transcript or a diff."""
        app = self._app
        found = set[str]()
        if app.detail.tab == "transcript" and self.in_detail():
            found |= {"searchable"} | ({"hits"} if app.detail.transcript.search.hits else set())
        if app.detail.tab == "diff" and app.lines("detail").room >= SPLIT_FROM:
            found.add("wide diff")
        return found

    def has_tabs(self) -> bool:
        return self._app.view == "now"

    def arrangement(self) -> str:
        """Where the detail stands: beside the list, below, or in place of the list."""
        if self._app.size.width >= _BESIDE:
            return "beside"
        return "below" if self._app.size.height >= _BELOW else "single"

    def two_panes(self) -> bool:
        return self.arrangement() != "single"

    def right_in_use(self) -> bool:
        return self._app.view in ("now", "questions", "timeline")

    def detail_in_sight(self) -> bool:
        return self.right_in_use() and (self.two_panes() or self._app.is_open)

    def in_detail(self) -> bool:
        return self._app.is_open and self._app.lines("detail").has_focus

    def lay_out(self) -> None:
        """Which panes are there, by the size of the screen and by what is open."""
        app = self._app
        right, left = app.query_one("#right"), app.lines("list")
        shown, now = self.detail_in_sight(), self.arrangement()
        right.set_class(not shown, "hidden")
        left.set_class(app.is_open and not self.two_panes(), "hidden")
        for name in ("beside", "below", "single"):
            app.screen_stack[0].set_class(name == now, name)
        share = f"{_LIST_SHARE}%" if shown else "1fr"
        left.styles.width = share if now == "beside" else "1fr"
        left.styles.height = share if now == "below" else "1fr"
        if shown:
            app.detail.choose(app.row())
        app.call_after_refresh(self.draw)
