"""JSON records: one value of a known type in one file of bounded size, written whole."""

from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded
from fleet.schemas import typed

T = TypeVar("T")


class JsonRecord(Generic[T]):
    """One kind of file: the value's type, the largest size, and the way out of damage."""

    def __init__(
        self,
        kind: type[T],
        *,
        limit: int = 1 << 20,
        hint: str = "Move it away to go on.",
        may_be_empty: bool = True,
    ) -> None:
        self._kind = kind
        self._limit = limit
        self._hint = hint
        #: An empty file counts as none: a power cut can leave a name without its content.
        self._may_be_empty = may_be_empty

    def read(self, path: Path) -> T | None:
        """The value; None if there is no file. Raises InvalidTask for a damaged file."""
        data = read_bounded(path, self._limit)
        if data is None or (not data and self._may_be_empty):
            return None
        return self.decode(path, data)

    def decode(self, path: Path, data: bytes) -> T:
        """The value that the file of this content holds. Raises InvalidTask."""
        try:
            return typed.decode(data, self._kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidTask(f"{path} is damaged: {error}", hint=self._hint) from error

    def read_or_none(self, path: Path) -> T | None:
        """The value; None if there is no file, or a damaged one."""
        try:
            return self.read(path)
        except InvalidTask:
            return None

    def write(self, path: Path, value: T, *, durable: bool = True) -> None:
        """Replace the file in one step; see `write_atomically` for `durable`."""
        write_atomically(path, self.encode(value), durable=durable)

    @staticmethod
    def encode(value: object) -> bytes:
        """The content of the file of a value."""
        return msgspec.json.encode(value) + b"\n"
