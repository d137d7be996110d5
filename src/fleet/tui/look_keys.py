"""Looking around in `fleet top`: what keys and clicks do that change nothing."""

from typing import TYPE_CHECKING

from fleet.tui.forms import FilterLine, LinesPage
from fleet.tui.key_table import help_lines
from fleet.tui.line_view import LineView
from fleet.tui.spans import said
from fleet.tui.status_lines import TABS

if TYPE_CHECKING:
    from fleet.tui.app import TopApp


class LookKeys:
    """Moving, opening, searching."""

    def __init__(self, app: "TopApp") -> None:
        self._app = app

    def linger(self, key: str) -> None:
        app = self._app
        if app.is_running and app.lines("list").cursor_key == key:
            app.detail.choose(app.row())
            app.drawing.draw_detail()

    def open_detail(self) -> None:
        app = self._app
        if not app.drawing.right_in_use():
            return
        app.is_open = True
        app.detail.choose(app.row())
        app.drawing.lay_out()
        app.call_after_refresh(app.lines("detail").focus)

    def view(self, name: str) -> None:
        app = self._app
        app.view, app.is_open = name, False
        app.lines("detail").following = False
        app.lines("list").following = name == "log"
        app.others.home_changed(name)
        app.lines("list").focus()
        app.drawing.lay_out()

    def go_back(self) -> None:
        app = self._app
        if app.is_open:
            app.is_open = False
            app.lines("list").focus()
            app.drawing.lay_out()
        elif app.wanted or app.marked:
            app.wanted = ""
            app.marked.clear()
            app.drawing.draw()
        elif app.view != "now":
            self.view("now")

    def pane(self) -> None:
        app = self._app
        if not (app.drawing.two_panes() and app.drawing.right_in_use()):
            return
        if app.lines("list").has_focus:
            self.open_detail()
        else:
            app.lines("list").focus()

    def move(self, step: int) -> None:
        self.focused().following = False
        self.focused().move(step)

    def edge(self, top: bool) -> None:
        pane = self.focused()
        pane.following = not top and pane.id == "detail" and self._app.detail.tab == "transcript"
        if pane.id == "detail":
            self._app.detail.jump(top=top)
        pane.to_end(top=top)

    def page(self, direction: int) -> None:
        self.focused().following = False
        self.focused().page(direction)

    def tab(self, name: str) -> None:
        app = self._app
        if app.view != "now":
            key = app.lines("list").cursor_key
            self.view("now")
            app.call_after_refresh(app.lines("list").stand_on, key)
        app.detail.tab = name
        app.lines("detail").to_end(top=True)
        app.call_after_refresh(self._show_tab, name)

    def _show_tab(self, name: str) -> None:
        app = self._app
        self.open_detail()
        app.detail.turn_to(name)
        app.lines("detail").following = name == "transcript"
        app.drawing.draw_detail()

    def turn(self, step: int) -> None:
        app = self._app
        if app.drawing.has_tabs() and app.drawing.detail_in_sight():
            at = TABS.index(app.detail.tab) + step
            self.tab(TABS[at % len(TABS)])

    def follow(self) -> None:
        """Keep the end of a transcript or of the log in sight, or stay where one reads."""
        app = self._app
        view = app.lines("list" if app.view == "log" else "detail")
        if app.view == "log" or app.detail.tab == "transcript":
            view.following = not view.following
            app.drawing.say(((f"{'following' if view.following else 'not following'}", "dim"),))
            app.detail.read()
            app.drawing.draw()

    def viewed(self) -> None:
        app = self._app
        if app.detail.tab == "diff":
            app.detail.diff.view(app.lines("detail").cursor_key)
            app.drawing.draw_detail()

    def mark(self) -> None:
        app = self._app
        if app.view == "now" and (row := app.row()) is not None:
            app.marked ^= {row.id}
            app.lines("list").move(1)
            app.drawing.draw()

    def filter(self) -> None:
        app = self._app
        if app.view != "now":
            self.view("now")
        app.push_screen(FilterLine(app.wanted, self._filtered), self._filtered)

    def _filtered(self, wanted: str | None) -> None:
        self._app.wanted = wanted or ""
        self._app.drawing.draw()

    def search(self) -> None:
        """Search in the whole transcript; n and N go from hit to hit."""
        app = self._app

        def take(wanted: str | None) -> None:
            app.detail.search(wanted or "", self._stand_on_hit)

        app.push_screen(FilterLine(app.detail.transcript.search.wanted, lambda _: None), take)

    def hit(self, step: int) -> None:
        self._app.detail.go_to_hit(step, self._stand_on_hit)

    def _stand_on_hit(self, key: str, words: str) -> None:
        """The hit is in memory: the cursor goes there."""
        app = self._app
        view = app.lines("detail")
        view.following = False
        app.drawing.draw_detail()
        view.stand_on(key)
        app.drawing.say(((words, "dim"),))

    def split(self) -> None:
        app = self._app
        app.detail.diff.is_split = not app.detail.diff.is_split
        app.drawing.draw_detail()

    def help(self) -> None:
        self._app.push_screen(
            LinesPage("Keys of fleet top", help_lines(read_only=self._app.read_only))
        )

    def copy(self) -> None:
        app = self._app
        if (row := app.row()) is not None:
            app.copy_to_clipboard(row.id)
            app.drawing.say(((f"copied {said(row.id)}", "dim"),))

    def focused(self) -> LineView:
        """The list, or the detail if keys go there."""
        detail = self._app.lines("detail")
        return detail if detail.has_focus else self._app.lines("list")
