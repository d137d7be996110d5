"""Whether a person looks at fleet just now: a page or terminal view that has the focus says so."""

from datetime import datetime

from fleet.control import Control
from fleet.runs.questions import looked_at


def note_look(fleet: Control) -> None:
    """A person looks at a surface of fleet now."""
    looked_at.note_look(fleet.home)


def is_looked_at(fleet: Control, now: datetime) -> bool:
    """A person has looked within the last minute."""
    return looked_at.is_looked_at(fleet.home, now)
