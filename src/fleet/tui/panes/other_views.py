"""The views that are not lists of tasks: timeline, usage and accounts, log."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import structs

from fleet.control import Control
from fleet.control.accounts import AccountsView, accounts_view
from fleet.control.tasks.task_files import Missing, last_lines, newest_log
from fleet.control.view.read_timeline import read_timeline
from fleet.control.view.timeline import Timeline
from fleet.control.view.usage_view import UsageView, read_usage
from fleet.tui.home_threads import Unread
from fleet.tui.listing import Listing
from fleet.tui.panes.task_detail import Asking
from fleet.tui.spans import SpanLine, paragraph
from fleet.tui.views.log_lines import DoneAct, log_page
from fleet.tui.views.timeline_lanes import lane_page, timeline_listing
from fleet.tui.views.usage_page import usage_page

#: How far back the timeline and the usage go, and how many lines of the log are read.
_NIGHT, _MONTH, _LOG = timedelta(hours=12), timedelta(days=30), 400
#: The shortest stretch of a timeline, and how much of it comes before the first run.
_SHORTEST, _BEFORE = timedelta(hours=1), timedelta(minutes=5)
_READING: Sequence[SpanLine] = [(("… is read", "dim"),)]


class OtherViews:
    """What was read for each of the views. `changed` is called when something new was read."""

    def __init__(self, ask: Asking, changed: Callable[[], None]) -> None:
        self._ask = ask
        self._changed = changed
        self._timeline: Timeline | Unread | None = None
        self._usage: tuple[UsageView, AccountsView] | Unread | None = None
        self._log: bytes | Unread | None = None

    def home_changed(self, view: str) -> None:
        """Read what a view shows again, since the home has changed."""
        match view:
            case "timeline":
                self._ask("timeline", _read_timeline, self._take_timeline)
            case "usage":
                self._ask("usage", _read_usage, self._take_usage)
            case "log":
                self._ask("log", _read_log, self._take_log)
            case _:
                return

    def listing(self, view: str, width: int, acts: Sequence[DoneAct], now: datetime) -> Listing:
        """The left side, or the whole screen."""
        match view:
            case "timeline" if isinstance(self._timeline, Timeline):
                return timeline_listing(self._timeline, width)
            case "usage" if isinstance(self._usage, tuple):
                return Listing(usage_page(*self._usage, width))
            case "log" if isinstance(self._log, bytes):
                return Listing(log_page(self._log, acts, width, now.astimezone()))
            case _:
                return Listing(self._trouble(view, width))

    def page(self, view: str, key: str, width: int) -> Listing:
        """The right side."""
        if view == "timeline" and isinstance(self._timeline, Timeline):
            return Listing(lane_page(self._timeline, key, width))
        return Listing()

    def _trouble(self, view: str, width: int) -> Sequence[SpanLine]:
        kept = {"timeline": self._timeline, "usage": self._usage, "log": self._log}[view]
        if isinstance(kept, Unread):
            return list(paragraph(f"{kept.message}\n{kept.hint}", width, "red"))
        return _READING

    def _take_timeline(self, found: Timeline | Unread) -> None:
        self._timeline = found
        self._changed()

    def _take_usage(self, found: tuple[UsageView, AccountsView] | Unread) -> None:
        self._usage = found
        self._changed()

    def _take_log(self, found: bytes | Unread) -> None:
        self._log = found
        self._changed()


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
