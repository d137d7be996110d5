"""The views that are not lists of tasks: timeline, usage and accounts, log."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from fleet.control import Control
from fleet.control.accounts import AccountsView, accounts_view
from fleet.control.tasks.task_files import Missing, last_lines, newest_log
from fleet.control.usage import UsageView, read_usage
from fleet.control.view.timeline import Timeline, read_timeline
from fleet.tui.home_threads import Unread
from fleet.tui.panes.task_detail import Asking
from fleet.tui.spans import Listing, paragraph
from fleet.tui.views.log_lines import DoneAct, log_page
from fleet.tui.views.timeline_lanes import lane_page, timeline_listing
from fleet.tui.views.usage_page import usage_page

#: How far back the timeline and the usage go, and how many lines of the log are read.
_NIGHT, _MONTH, _LOG = timedelta(hours=12), timedelta(days=30), 400
#: The shortest stretch of a timeline, and how much of it comes before the first run.
_SHORTEST, _BEFORE = timedelta(hours=1), timedelta(minutes=5)


class OtherViews:
    """What was read for each of the views. `changed` is called when something new was read."""

    def __init__(self, ask: Asking, changed: Callable[[], None]) -> None:
        self._ask = ask
        self._changed = changed
        self._read: dict[str, Timeline | tuple[UsageView, AccountsView] | bytes | Unread] = {}

    def home_changed(self, view: str) -> None:
        """Read what a view shows again, since the home has changed."""
        if (read := _READS.get(view)) is None:
            return

        def take(found: Any) -> None:
            self._read[view] = found
            self._changed()

        self._ask(view, read, take)

    def listing(self, view: str, width: int, acts: Sequence[DoneAct], now: datetime) -> Listing:
        """The left side, or the whole screen."""
        match self._read.get(view):
            case Timeline() as seen:
                return timeline_listing(seen, width)
            case (usage, accounts):
                return Listing(usage_page(usage, accounts, width))
            case bytes() as log:
                return Listing(log_page(log, acts, width, now.astimezone()))
            case Unread() as trouble:
                words = f"{trouble.message}\n{trouble.hint}"
                return Listing(list(paragraph(words, width, "red")))
            case None:
                return Listing([(("… is read", "dim"),)])

    def page(self, view: str, key: str, width: int) -> Listing:
        """The right side."""
        seen = self._read.get(view)
        return Listing(lane_page(seen, key, width)) if isinstance(seen, Timeline) else Listing()


def _read_timeline(fleet: Control) -> Timeline:
    """The last hours, from the first run in them on."""
    now = datetime.now(UTC)
    seen = read_timeline(fleet, now - _NIGHT, now, now)
    begun = [lane.segments[0].start for lane in seen.lanes if lane.segments]
    first = max(seen.start, min(begun, default=seen.start) - _BEFORE)
    return structs.replace(seen, start=min(first, now - _SHORTEST))


def _read_usage(fleet: Control) -> tuple[UsageView, AccountsView]:
    now = datetime.now(UTC)
    return read_usage(fleet, "model", now, now - _MONTH), accounts_view(fleet, now)


def _read_log(fleet: Control) -> bytes:
    try:
        return last_lines(newest_log(fleet), _LOG)
    except Missing:
        return b""


#: What each view is read by.
_READS: Mapping[str, Callable[[Control], Any]] = {
    "timeline": _read_timeline,
    "usage": _read_usage,
    "log": _read_log,
}
