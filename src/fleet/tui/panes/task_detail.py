"""The task that the right side shows: which one, which tab, and what is read."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from fleet.control import Control
from fleet.control.view.now import TaskRow
from fleet.control.view.task.whole_task import WholeTask, read_whole_task
from fleet.tui.home_threads import Unread
from fleet.tui.panes.diff_pane import DiffPane
from fleet.tui.panes.transcript_pane import TranscriptPane
from fleet.tui.spans import Listing, paragraph
from fleet.tui.status_lines import TABS
from fleet.tui.views.task_pages import plan_page, receipt_page, runs_page

#: Asks a question of the home on another thread, and hands over the answer.
Asking = Callable[[str, Callable[[Control], Any], Callable[[Any], None]], None]


class TaskDetail:
    """One task at a time. `changed` is called when something new was read."""

    def __init__(self, ask: Asking, changed: Callable[[], None]) -> None:
        self._ask = ask
        self._changed = changed
        self.tab = TABS[0]
        self.task_id: str = ""
        self._row: TaskRow | None = None
        self._whole: WholeTask | Unread | None = None
        self.transcript = TranscriptPane("")
        self.diff = DiffPane("")
        #: How many lines the last read put before the others.
        self.before = False

    def choose(self, row: TaskRow | None) -> None:
        """Show another task, or the same one anew if the row has changed."""
        if row is None:
            self.task_id, self._row, self._whole = "", None, None
            return
        if row.id != self.task_id:
            self.task_id, self._row, self._whole = row.id, row, None
            self.transcript, self.diff = TranscriptPane(row.id), DiffPane(row.id)
            self.read()
        elif row != self._row:
            self._row = row
            self.read()

    def turn_to(self, tab: str) -> None:
        self.tab = tab
        self.read()

    def read(self) -> None:
        """Read what the tab shows."""
        if not self.task_id:
            return
        match self.tab:
            case "transcript":
                self._ask("transcript", self.transcript.newer(), self._heard)
            case "diff":
                self._ask("diff", self.diff.ask(), self._take(self.diff.take))
            case _:
                task_id = self.task_id
                self._ask("task", lambda fleet: _whole(fleet, task_id), self._take(self._keep))

    def read_more(self, *, top: bool) -> None:
        """Read on where the person has come to the edge of a transcript."""
        pane = self.transcript
        if self.tab == "transcript" and (pane.has_earlier if top else pane.has_later):
            self._ask("transcript", pane.earlier() if top else pane.later(), self._heard)

    def jump(self, *, top: bool) -> None:
        """Go to the true beginning or end of a transcript, of which only a stretch is there."""
        pane = self.transcript
        if self.tab == "transcript" and (pane.has_earlier if top else pane.has_later):
            self._ask("transcript", pane.jump(top=top), self._heard)

    def search(self, wanted: str, stand: Callable[[str, str], None]) -> None:
        """Search the whole transcript, and go to the hit that is next."""
        pane = self.transcript
        pane.begin_search(wanted)
        if pane.search.wanted:
            self._ask("search", pane.search.ask(), lambda found: self._found(found, stand))
        self._changed()

    def _found(self, found: Any, stand: Callable[[str, str], None]) -> None:
        if not isinstance(found, Unread) and found.task_id != self.task_id:
            return
        search = self.transcript.search
        if search.take(found):  # a stretch of the file is searched at a time
            self._ask("search", search.ask(), lambda more: self._found(more, stand))
        elif search.hits:
            self.go_to_hit(0, stand)
        else:
            stand("", search.words())

    def go_to_hit(self, step: int, stand: Callable[[str, str], None]) -> None:
        """Go `step` hits on; what stands there is read if not in memory."""
        pane = self.transcript
        if not pane.search.hits:
            return
        key, question = pane.next_hit(step)
        if question is None:
            stand(key, pane.search.words())
            return

        def take(answer: Any) -> None:
            self._heard(answer)
            if self.transcript is pane:
                stand(key, pane.search.words())

        self._ask("transcript", question, take)

    def open_line(self, key: str) -> None:
        """Fold or unfold what a line belongs to."""
        if self.tab == "transcript":
            self.transcript.turn(key)
        elif self.tab == "diff" and (job := self.diff.turn(key)) is not None:
            self._ask("diff-part", job, self._take(self.diff.take_part))
        self._changed()

    def fold_all(self) -> None:
        if self.tab == "transcript":
            self.transcript.turn_all()
        elif self.tab == "diff":
            self.diff.fold_all()
        self._changed()

    def listing(self, width: int, at: datetime) -> Listing:
        """What was read of the tab so far; ages are those at this moment."""
        if not self.task_id:
            return Listing([(("No task is chosen.", "dim"),)])
        if self.tab == "transcript":
            return self.transcript.listing(width)
        if self.tab == "diff":
            return self.diff.listing(width)
        whole = self._whole
        if whole is None:
            return Listing([(("… is read", "dim"),)])
        if isinstance(whole, Unread):
            return Listing(list(paragraph(f"{whole.message}\n{whole.hint}", width, "red")))
        page = {"plan": plan_page, "runs": runs_page}.get(self.tab, receipt_page)
        return Listing(page(structs.replace(whole, as_of=max(whole.as_of, at)), width))

    def _keep(self, whole: WholeTask | Unread) -> None:
        self._whole = whole

    def _take(self, keep: Callable[[Any], None]) -> Callable[[Any], None]:
        """An answer that comes after another task was chosen is not shown."""
        asked = self.task_id

        def take(answer: Any) -> None:
            if asked == self.task_id:
                keep(answer)
                self._changed()

        return take

    def _heard(self, answer: Any) -> None:
        if not isinstance(answer, Unread) and answer.task_id != self.task_id:
            return
        self.before = self.transcript.take(answer)
        self._changed()
        self.before = False


def _whole(fleet: Control, task_id: str) -> WholeTask:
    return read_whole_task(fleet, task_id, datetime.now(UTC))
