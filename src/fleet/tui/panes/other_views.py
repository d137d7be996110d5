"""The views that are not lists of tasks."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from fleet.control import Control
from fleet.control.tasks.task_files import Missing, last_lines, newest_log
from fleet.tui.home_threads import Unread
from fleet.tui.listing import Listing
from fleet.tui.spans import paragraph
from fleet.tui.views.log_lines import DoneAct, log_page

#: How many lines of the log are read.
_LOG = 400
#: Asks a question of the home on another thread, and hands over the answer.
Asking = Callable[[str, Callable[[Control], Any], Callable[[Any], None]], None]


class OtherViews:
    """What was read for each of the views. `changed` is called when something new was read."""

    def __init__(self, ask: Asking, changed: Callable[[], None]) -> None:
        self._ask = ask
        self._changed = changed
        self._log: bytes | Unread | None = None

    def home_changed(self, view: str) -> None:
        """Read what a view shows: it is in sight, and the home has changed."""
        if view == "log":
            self._ask("log", _read_log, self._take_log)

    def listing(self, width: int, acts: Sequence[DoneAct], now: datetime) -> Listing:
        """The log over the whole screen."""
        if isinstance(self._log, bytes):
            return Listing(log_page(self._log, acts, width, now.astimezone()))
        if isinstance(self._log, Unread):
            words = f"{self._log.message}\n{self._log.hint}"
            return Listing(list(paragraph(words, width, "red")))
        return Listing([(("… is read", "dim"),)])

    def _take_log(self, found: bytes | Unread) -> None:
        self._log = found
        self._changed()


def _read_log(fleet: Control) -> bytes:
    try:
        return last_lines(newest_log(fleet), _LOG)
    except Missing:
        return b""
