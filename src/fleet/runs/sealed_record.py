"""Records of a run that a later supervisor acts on: each is sealed before the write."""

from typing import Generic, TypeVar

import msgspec

from fleet.errors import InvalidTask
from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import read_bounded
from fleet.runs.run_directory import Run

T = TypeVar("T")


class SealedRecord(Generic[T]):
    """One kind of record in a run's directory."""

    def __init__(self, name: str, kind: type[T], *, limit: int = 1 << 20) -> None:
        self.name = name
        self._json = JsonRecord(kind, limit=limit)
        self._limit = limit

    def read(self, run: Run) -> T | None:
        """The value, to be shown; None if missing or damaged. To be shown."""
        return self._json.read_or_none(run.path / self.name)

    def believed(self, run: Run) -> T | None:
        """The value if fleet wrote it; else None. To be acted on."""
        try:
            data = read_bounded(run.path / self.name, self._limit)
            if not data or seals.doubt(run.task_dir, run.number, run.path / self.name, data):
                return None
            return self._json.decode(run.path / self.name, data)
        except InvalidTask:
            return None

    def write(
        self, run: Run, value: T, *, durable: bool = True, named: bool = True, sealed: bytes = b""
    ) -> None:
        """Seal the record and write it. Raises OSError.

        `sealed` is the encoded value if the caller has sealed it already.
        """
        data = sealed or encode(value)
        if not sealed:
            seals.seal(run.task_dir, run.number, {self.name: data})
        write_atomically(run.path / self.name, data, durable=durable, named=named)


def encode(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
