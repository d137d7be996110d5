"""The task that the right side shows."""

from datetime import datetime

from fleet.control.view.now import TaskRow
from fleet.tui.listing import Listing
from fleet.tui.views.row_page import row_page


class TaskDetail:
    """One task at a time."""

    def __init__(self) -> None:
        self._row: TaskRow | None = None

    def choose(self, row: TaskRow | None) -> None:
        self._row = row

    def listing(self, at: datetime, width: int) -> Listing:
        """All that *now* tells of the task."""
        if self._row is None:
            return Listing([(("No task is chosen.", "dim"),)])
        return Listing(row_page(self._row, at, width))
