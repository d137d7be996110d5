"""JSON records: one value of a known type in one file of bounded size, written whole.

`JsonRecord` reads and writes one kind of file. `SharedRecord` is one such file that several
processes change.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive
from fleet.files.safe_read import read_bounded, stamp_of

T = TypeVar("T")


class JsonRecord(Generic[T]):
    """One kind of file: the type of its value, its largest size, and the way out of damage."""

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
        try:
            return msgspec.json.decode(data, type=self._kind)
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
        write_atomically(path, msgspec.json.encode(value) + b"\n", durable=durable)


class SharedRecord(Generic[T]):
    """A record that several processes change: read again when its stamp changes, and changed
    under a lock beside it. A damaged file counts as `default`; the next change writes it anew.
    """

    def __init__(self, path: Path, record: JsonRecord[T], default: T) -> None:
        self.path = path
        self._record = record
        self._default = default
        self._value = default
        self._stamp: tuple[int, int, int] | None = None

    @property
    def value(self) -> T:
        """The value as it is in the file now. Costs one stat while the file does not change."""
        stamp = stamp_of(self.path)
        if stamp != self._stamp:
            self._stamp = stamp
            found = self._record.read_or_none(self.path)
            self._value = self._default if found is None else found
        return self._value

    def update(self, change: Callable[[T], T], *, durable: bool = True) -> T:
        """Replace the value by `change(value)`; a change to an equal value takes no lock.

        An OSError (a full disk) is raised, and `value` is the changed one all the same until
        another process writes the file.
        """
        if change(self.value) == self._value:
            return self._value
        try:
            with exclusive(self.path.with_suffix(".lock")):
                fresh = change(self.value)
                self._record.write(self.path, fresh, durable=durable)
                self._stamp = stamp_of(self.path)
        except OSError:
            self._value = change(self._value)
            raise
        self._value = fresh
        return fresh
