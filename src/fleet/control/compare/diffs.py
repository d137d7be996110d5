"""What each entry of a comparison changed, against the commit that all entries began at."""

from msgspec import Struct

from fleet.control import Control
from fleet.errors import FleetError
from fleet.git.clone.task_work import task_work
from fleet.schemas import FileChange
from fleet.schemas.comparison import Comparison, Entry, Size


class EntryDiff(Struct, frozen=True, kw_only=True):
    """What one entry changed."""

    entry: Entry
    files: tuple[FileChange, ...] = ()
    patch: str = ""
    #: Why the changes are not known; empty if they are.
    trouble: str = ""

    @property
    def name(self) -> str:
        return f"{self.entry.task_id} {self.entry.label}"

    @property
    def size(self) -> Size | None:
        if self.trouble:
            return None
        return Size(
            files=len(self.files),
            added=sum(file.added for file in self.files),
            removed=sum(file.removed for file in self.files),
        )


def diff_of(
    fleet: Control, comparison: Comparison, entry: Entry, *, patch: bool = True
) -> EntryDiff:
    """The changed files of one entry, and their text unless `patch` is False."""
    gone = EntryDiff(entry=entry, trouble="its clone and its branch are gone")
    if not entry.task_id:
        return gone
    try:
        with task_work(fleet.home, entry.task_id) as work:
            if work is None:
                return gone
            text = work.patch(comparison.commit) if patch else b""
            return EntryDiff(
                entry=entry,
                files=tuple(work.changes(comparison.commit)),
                patch=text.decode(errors="replace"),
            )
    except (FleetError, OSError) as error:
        return EntryDiff(entry=entry, trouble=str(error))
