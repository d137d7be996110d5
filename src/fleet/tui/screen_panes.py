"""Which panes of the screen are in sight, and what keys find there."""

from typing import TYPE_CHECKING

from fleet.tui.views.patch_lines import SPLIT_FROM

if TYPE_CHECKING:
    from fleet.tui.app import TopApp

#: From this width on list and detail stand beside each other; on a narrower screen from this
#: height on below each other. The share of the list, in percent.
_BESIDE, _BELOW, _LIST_SHARE = 140, 34, 48


class ScreenPanes:
    """The list, and the detail beside the list, below, or in place of the list."""

    def __init__(self, app: "TopApp") -> None:
        self._app = app

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
            found |= {"searchable"} | ({"hits"} if app.detail.transcript.hits else set())
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
        app.call_after_refresh(app.drawing.draw)
