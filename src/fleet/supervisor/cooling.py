"""Coders that wait for a limit to reset: `cooling.json` in the home, so that a restart forgets
nothing. Pure but for reading and writing that file.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from fleet.taskdir.atomic import write_atomically
from fleet.taskdir.plain import read_plain

FILE = "cooling.json"
_LARGEST = 1 << 20


class Cooling:
    """Until when each coder is left alone."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._until: dict[str, datetime] = self._read()

    def until(self, coder: str, now: datetime) -> datetime | None:
        """When the coder may start again; None if it may now."""
        end = self._until.get(coder)
        return end if end is not None and end > now else None

    def cool(self, coder: str, until: datetime) -> None:
        """Leave a coder alone until its limit resets."""
        if until > self._until.get(coder, until.min.replace(tzinfo=until.tzinfo)):
            self._until[coder] = until
            write_atomically(self._path, msgspec.json.encode(self._until))

    def active(self, now: datetime) -> Mapping[str, datetime]:
        return {coder: end for coder, end in self._until.items() if end > now}

    def _read(self) -> dict[str, datetime]:
        try:
            data = read_plain(self._path, _LARGEST)
            return msgspec.json.decode(data, type=dict[str, datetime]) if data else {}
        except msgspec.DecodeError:
            return {}  # the next limit writes it anew; at worst one run meets the wall once more
