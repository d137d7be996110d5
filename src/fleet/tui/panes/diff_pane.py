"""A task's diff: the list of files first, the rows of each once in sight."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fleet.control import Control
from fleet.control.review.patch import FileOfDiff
from fleet.control.view.task.read_diff import Diff, DiffPart, read_diff, read_diff_file
from fleet.tui.home_threads import Unread
from fleet.tui.spans import Listing
from fleet.tui.views.patch_lines import SPLIT_FROM, patch_listing, place_of

if TYPE_CHECKING:
    from fleet.control.acts.each_act import CommentOnLine

#: Files are read at once until this many lines are there; further files when they are opened.
_AT_ONCE = 2000


class DiffPane:
    """The files and rows of one diff that are in memory, and what a person did with them."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self.comments: list[CommentOnLine] = []
        #: The person wants before and after side by side, where there is room.
        self.is_split = False
        self._diff: Diff | None = None
        self._problem = ""
        self._parts: dict[int, DiffPart] = {}
        self._folded: set[int] = set()
        #: Digests of files: a file that changes again has to be viewed again.
        self._viewed: set[str] = set()

    def ask(self) -> Callable[[Control], tuple[Diff, list[DiffPart]]]:
        """The question for the files, with the rows of the first of them."""
        return lambda fleet: _first_parts(fleet, self.task_id)

    def ask_file(self, number: int, row: int = 0) -> Callable[[Control], DiffPart]:
        """The question for the rows of one file, from a row on."""
        of = self._diff.digest if self._diff is not None else ""
        return lambda fleet: read_diff_file(fleet, self.task_id, number, of=of, row=row, words=True)

    def take(self, found: tuple[Diff, list[DiffPart]] | Unread) -> None:
        if isinstance(found, Unread):
            self._problem = f"{found.message}. {found.hint}"
            return
        diff, parts = found
        if self._diff is not None and self._diff.digest == diff.digest:
            return
        self._problem = ""
        self._diff = diff
        self._parts = {part.file.number: part for part in parts}
        self._folded = {
            file.number
            for file in diff.files
            if file.digest in self._viewed or file.number not in self._parts
        }

    def take_part(self, part: DiffPart | Unread) -> None:
        if isinstance(part, Unread):
            self._problem = part.message
            return
        before = self._parts.get(part.file.number)
        if before is not None and part.first_row and before.next_row == part.first_row:
            part = DiffPart(
                task_id=part.task_id, run=part.run, file=part.file,
                hunks=(*before.hunks, *part.hunks), next_row=part.next_row,
            )  # fmt: skip
        self._parts[part.file.number] = part

    def turn(self, key: str) -> Callable[[Control], DiffPart] | None:
        """Fold or unfold a file, or go on with a long one; returns what has to be read."""
        number, place = place_of(key)
        if place.startswith("more:"):
            return self.ask_file(number, int(place.removeprefix("more:")))
        self._folded ^= {number}
        is_missing = number not in self._folded and number not in self._parts
        return self.ask_file(number) if is_missing else None

    def fold_all(self) -> None:
        """Fold every file; if all are folded, unfold those that were read."""
        everything = {file.number for file in self._diff.files} if self._diff else set[int]()
        self._folded = everything - self._parts.keys() if self._folded == everything else everything

    def view(self, key: str) -> None:
        """Mark a file as viewed, and fold it; or take the mark back."""
        if (file := self._file(place_of(key)[0])) is None:
            return
        self._viewed ^= {file.digest}
        is_viewed = file.digest in self._viewed
        self._folded = self._folded | {file.number} if is_viewed else self._folded - {file.number}

    def place(self, key: str) -> tuple[str, int] | None:
        """The path and line that a comment on this line is about; None: on no line of the work."""
        number, place = place_of(key)
        side, _, line = place.partition(":")
        file = self._file(number)
        return (file.path, int(line)) if file is not None and side == "new" else None

    def listing(self, width: int) -> Listing:
        if self._problem:
            return Listing([((self._problem, "dim"),)])
        if self._diff is None:
            return Listing([(("… is read", "dim"),)])
        split = width if self.is_split and width >= SPLIT_FROM else 0
        return patch_listing(
            self._diff, self._parts, folded=self._folded, viewed=self._viewed, split=split
        )

    def _file(self, number: int) -> FileOfDiff | None:
        files = self._diff.files if self._diff else ()
        return next((file for file in files if file.number == number), None)


def _first_parts(fleet: Control, task_id: str) -> tuple[Diff, list[DiffPart]]:
    diff = read_diff(fleet, task_id)
    parts: list[DiffPart] = []
    lines = 0
    for file in diff.files:
        if lines + file.lines > _AT_ONCE or file.folded:
            continue
        parts.append(read_diff_file(fleet, task_id, file.number, of=diff.digest, words=True))
        lines += file.lines
    return diff, parts
