"""What each entry of a comparison changed, against the commit that all began at."""

from msgspec import Struct

from fleet.control import Control
from fleet.errors import FleetError
from fleet.git.task_branch import leavings_of
from fleet.schemas import FileChange
from fleet.schemas.comparison import Comparison, Entry


class Difference(Struct, frozen=True, kw_only=True):
    """What one entry changed."""

    entry: Entry
    files: tuple[FileChange, ...] = ()
    patch: str = ""
    #: Why it cannot be told.
    trouble: str = ""

    @property
    def name(self) -> str:
        return f"{self.entry.task_id} {self.entry.label}"


def difference_of(fleet: Control, comparison: Comparison, entry: Entry) -> Difference:
    """The difference that one entry made; what cannot be told is said in it."""
    try:
        left = leavings_of(fleet.home, entry.task_id) if entry.task_id else None
        tip = left.tip() if left is not None else None
        if left is None or tip is None:
            return Difference(entry=entry, trouble="nothing of it is there (any more)")
        return Difference(
            entry=entry,
            files=tuple(left.changes(tip, comparison.commit)),
            patch=left.patch(tip, comparison.commit).decode(errors="replace"),
        )
    except FleetError as error:
        return Difference(entry=entry, trouble=error.message)
