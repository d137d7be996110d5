"""Draws the screen: the lines around the panes, the list and the detail."""

import time
from typing import TYPE_CHECKING

from fleet.tui.key_table import keys_line
from fleet.tui.listing import Listing
from fleet.tui.spans import SpanLine, clipped, said
from fleet.tui.status_lines import VIEWS, place_line, tab_line, top_line, trouble_of
from fleet.tui.views.now_list import now_listing
from fleet.tui.views.question_list import question_listing, question_page

if TYPE_CHECKING:
    from fleet.tui.app import TopApp

#: The tabs that tell how long ago something was.
_WITH_AGES = ("receipt", "runs")


class ScreenDrawing:
    """What is shown of what the app knows."""

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
        if not app.panes.detail_in_sight():
            return
        view = app.lines("detail")
        app.lines("tabs").set_class(not app.panes.has_tabs(), "hidden")
        app.lines("tabs").show([tab_line(app.detail.tab, view.room)])
        if app.panes.has_tabs():
            follows = app.detail.tab == "transcript" and not app.detail.before
            view.following = view.following and follows
            listing = app.detail.listing(view.room, app.clock())
        else:
            listing = self._page(view.room)
        if app.detail.before and app.panes.has_tabs():
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
            crumbs += [app.detail.tab] if app.panes.has_tabs() else []
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
        app.lines("keys").show([keys_line(app.panes.here(), width, read_only=app.read_only)])

    def say(self, line: SpanLine) -> None:
        """What the last act came to, above the keys."""
        self._app.lines("said").show([clipped(line, self._app.size.width)])

    def tick(self) -> None:
        """Once a second: ages grow, and a queue that does not answer is told."""
        app = self._app
        if app.view in ("now", "questions"):
            listing = self._listing(app.lines("list").room)
            app.lines("list").show(listing.lines, listing.keys)
        if app.panes.has_tabs() and app.detail.tab in _WITH_AGES:
            self.draw_detail()
        self.draw_top()
        self.draw_place()
