"""Tells from bd's files whether bd wrote, so that looking costs no process."""

import contextlib
from pathlib import Path

from fleet.queue.beads.bd_cli.bd_client import FOLDER

#: Dolt's storage appends with each write; reading only touches its times.
_STORES = ("*/.dolt/noms", "*/*/.dolt/noms")

Print = tuple[tuple[str, int | bytes], ...]


class Watch:
    """Remembers how bd's files looked; a database on a server has none here."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER
        self._seen = self._look()

    @property
    def is_blind(self) -> bool:
        return not self._seen

    def changed(self) -> bool:
        """True once for each change since the last question."""
        before, self._seen = self._seen, self._look()
        return before != self._seen

    def _look(self) -> Print:
        marks: list[tuple[str, int | bytes]] = []
        for pattern in _STORES:
            for store in self._folder.glob(pattern):
                with contextlib.suppress(OSError):  # collected away while we look: a change
                    marks += [(str(file), file.stat().st_size) for file in store.iterdir()]
                    marks.append((str(store), (store / "manifest").read_bytes()))
        return tuple(sorted(marks, key=lambda mark: (mark[0], str(mark[1]))))
