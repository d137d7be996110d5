"""Looking around in `fleet top`: what keys and clicks do that change nothing."""

from textual import events

from fleet.tui.key_table import help_lines, keys_here
from fleet.tui.line_view import LineView
from fleet.tui.spans import said
from fleet.tui.status_lines import TABS, tab_at, view_at
from fleet.tui.top_screen import TopScreen

#: Seconds until a task that the cursor passes is read.
_LINGER = 0.12


class LookKeys(TopScreen):
    """Moving, opening, searching."""

    # What happens.

    def on_resize(self, event: events.Resize) -> None:
        del event  # the app has its new size only afterwards
        self.call_after_refresh(self._lay_out)

    def on_line_view_cursor_moved(self, event: LineView.CursorMoved) -> None:
        if event.view.id == "list":
            self._draw_place()
            if self._detail_in_sight():
                self.lines("detail").following = False
                self.set_timer(_LINGER, lambda: self._linger(event.key))

    def _linger(self, key: str) -> None:
        if self.is_running and self.lines("list").cursor_key == key:
            self.detail.choose(self.row())
            self.draw_detail()

    def on_line_view_line_opened(self, event: LineView.LineOpened) -> None:
        if event.view.id == "list":
            self._open()
        elif event.view.id == "detail":
            self.detail.open_line(event.key)

    def on_line_view_at_edge(self, event: LineView.AtEdge) -> None:
        if event.view.id == "detail":
            self.detail.read_more(top=event.top)

    def on_click(self, event: events.Click) -> None:
        name = getattr(event.widget, "id", "")
        if name == "top" and (view := view_at(self.now, event.x)):
            self.action_view(view)
        elif name == "tabs" and (tab := tab_at(event.x - 1)):
            self.action_tab(tab)

    def _open(self) -> None:
        if not self._right_in_use():
            return
        self.is_open = True
        self.detail.choose(self.row())
        self._lay_out()
        self.call_after_refresh(self.lines("detail").focus)

    # Keys: looking.

    def action_view(self, name: str) -> None:
        self.view, self.is_open = name, False
        self.lines("detail").following = False
        self.lines("list").following = name == "log"
        self.others.home_changed(name)
        self.lines("list").focus()
        self._lay_out()

    def action_open(self) -> None:
        self._pane().open_cursor()

    def action_go_back(self) -> None:
        if self.is_open:
            self.is_open = False
            self.lines("list").focus()
            self._lay_out()
        elif self.wanted or self.marked:
            self.wanted = ""
            self.marked.clear()
            self.draw()
        elif self.view != "now":
            self.action_view("now")

    def action_pane(self) -> None:
        if not (self._two_panes() and self._right_in_use()):
            return
        if self.lines("list").has_focus:
            self._open()
        else:
            self.lines("list").focus()

    def action_move(self, step: int) -> None:
        self._pane().following = False
        self._pane().move(step)

    def action_edge(self, top: bool) -> None:
        pane = self._pane()
        pane.following = not top and pane.id == "detail" and self.detail.tab == "transcript"
        if pane.id == "detail":
            self.detail.jump(top=top)
        pane.to_end(top=top)

    def action_page(self, direction: int) -> None:
        self._pane().following = False
        self._pane().page(direction)

    def action_shift(self, direction: int) -> None:
        self._pane().shift(direction)

    def action_tab(self, name: str) -> None:
        if self.view != "now":
            key = self.lines("list").cursor_key
            self.action_view("now")
            self.call_after_refresh(self.lines("list").stand_on, key)
        self.detail.tab = name
        self.lines("detail").to_end(top=True)
        self.call_after_refresh(self._show_tab, name)

    def _show_tab(self, name: str) -> None:
        self._open()
        self.detail.turn_to(name)
        self.lines("detail").following = name == "transcript"
        self.draw_detail()

    def action_turn(self, step: int) -> None:
        if self._has_tabs() and self._detail_in_sight():
            at = TABS.index(self.detail.tab) + step
            self.action_tab(TABS[at % len(TABS)])

    def action_follow(self) -> None:
        """Keep the end of a transcript or of the log in sight, or stay where one reads."""
        view = self.lines("list" if self.view == "log" else "detail")
        if self.view == "log" or self.detail.tab == "transcript":
            view.following = not view.following
            self.say(((f"{'following' if view.following else 'not following'}", "dim"),))
            self.detail.read()
            self.draw()

    def action_fold(self) -> None:
        self.detail.fold_all()

    def action_viewed(self) -> None:
        if self.detail.tab == "diff":
            self.detail.diff.view(self.lines("detail").cursor_key)
            self.draw_detail()

    def action_mark(self) -> None:
        if self.view == "now" and (row := self.row()) is not None:
            self.marked ^= {row.id}
            self.lines("list").move(1)
            self.draw()

    def action_filter(self) -> None:
        from fleet.tui.forms.filter_line import FilterLine

        if self.view != "now":
            self.action_view("now")
        self.push_screen(FilterLine(self.wanted, self._filtered), self._filtered)

    def _filtered(self, wanted: str | None) -> None:
        self.wanted = wanted or ""
        self.draw()

    def action_search(self) -> None:
        """Search in the whole transcript; n and N go from hit to hit."""
        from fleet.tui.forms.filter_line import FilterLine

        def take(wanted: str | None) -> None:
            self.detail.search(wanted or "", self._stand_on_hit)

        self.push_screen(FilterLine(self.detail.transcript.wanted, lambda _: None), take)

    def action_hit(self, step: int) -> None:
        self.detail.go_to_hit(step, self._stand_on_hit)

    def _stand_on_hit(self, key: str, words: str) -> None:
        """The hit is in memory: the cursor goes there."""
        view = self.lines("detail")
        view.following = False
        self.draw_detail()
        view.stand_on(key)
        self.say(((words, "dim"),))

    def action_split(self) -> None:
        self.detail.diff.is_split = not self.detail.diff.is_split
        self.draw_detail()

    async def action_choose(self, name: str) -> None:
        """Do what a key does here that does different things elsewhere."""
        for key in keys_here(self.here(), read_only=self.read_only):
            if name in key.names.split(","):
                await self.run_action(key.action)
                return

    def action_help(self) -> None:
        from fleet.tui.forms.lines_page import LinesPage

        self.push_screen(LinesPage("Keys of fleet top", help_lines(read_only=self.read_only)))

    def action_copy(self) -> None:
        if (row := self.row()) is not None:
            self.copy_to_clipboard(row.id)
            self.say(((f"copied {said(row.id)}", "dim"),))

    def action_quit_top(self) -> None:
        self.exit()

    def _pane(self) -> LineView:
        detail = self.lines("detail")
        return detail if detail.has_focus else self.lines("list")
