"""Coders that wait for a limit to reset: `cooling.json` in the home, so that a restart forgets
nothing. Pure but for reading and writing that file.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec

from fleet.errors import InvalidTask
from fleet.taskdir.atomic import write_atomically
from fleet.taskdir.plain import read_plain

FILE = "cooling.json"
_LARGEST = 1 << 20

_Until = dict[str, Annotated[datetime, msgspec.Meta(tz=True)]]


class Cooling:
    """Until when each coder is left alone."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._until: dict[str, datetime] = self._read()

    def until(self, coder: str, now: datetime) -> datetime | None:
        """When the coder may start again; None if it may now."""
        end = self._until.get(coder)
        return end if end is not None and end > now else None

    def cool(self, coder: str, until: datetime, now: datetime) -> None:
        """Leave a coder alone until its limit resets. The longest wait counts."""
        if until <= self._until.get(coder, now):
            return
        self._until = {**self.active(now), coder: until}
        write_atomically(self._path, msgspec.json.encode(self._until))

    def active(self, now: datetime) -> Mapping[str, datetime]:
        return {coder: end for coder, end in self._until.items() if end > now}

    def _read(self) -> dict[str, datetime]:
        try:
            data = read_plain(self._path, _LARGEST)
            return msgspec.json.decode(data, type=_Until) if data else {}
        except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
            return {}  # the next limit writes it anew; at worst one run meets the wall once more
