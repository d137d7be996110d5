"""`seals/<task>` in the home: the digest of each record that a later supervisor acts on.

A supervisor that lives goes by its memory. One that comes after a `kill -9` has only files, and
believes of them what a process of fleet's wrote: each line here is `<run> <name> <sha256>`, added
before the record is written. Confined agents can write neither here nor there. To an agent that
nothing confines this is no fence: it can write both.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from fleet.errors import InvalidTask
from fleet.files.append_file import append
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import read_bounded

T = TypeVar("T")

FOLDER = "seals"
#: The change time of this file tells since when this home seals records: older records are believed
#: unsealed.
_SINCE = ".since"
_LARGEST = 16 << 20
#: Stands for the run's number in the seals of a task's own records.
OF_TASK = 0


class SealedRecord(Generic[T]):
    """One kind of record, in `tasks/<id>` or in `tasks/<id>/runs/<n>`. `run` is the run's number
    where the folder is a run's.
    """

    def __init__(self, name: str, kind: type[T], *, limit: int = 1 << 20) -> None:
        self.name = name
        self._json = JsonRecord(kind, limit=limit)
        self._limit = limit

    def read(self, folder: Path) -> T | None:
        """The value, to be shown; None if missing or damaged."""
        return self._json.read_or_none(folder / self.name)

    def believed(self, folder: Path, run: int = OF_TASK) -> T | None:
        """The value if fleet wrote it; else None. To be acted on."""
        return self.weighed(folder, run)[0]

    def weighed(self, folder: Path, run: int = OF_TASK) -> tuple[T | None, str]:
        """The value that can be acted on, or why there is none; neither: there is no record."""
        path = folder / self.name
        try:
            data = read_bounded(path, self._limit)
            if data is None:
                return None, ""
            value = self._json.decode(path, data)
        except InvalidTask as error:
            return None, error.message
        why = doubt(_task_dir(folder, run), run, path, data)
        return (None, why) if why else (value, "")

    def write(
        self,
        folder: Path,
        value: T,
        run: int = OF_TASK,
        *,
        durable: bool = True,
        named: bool = True,
        sealed: bytes = b"",
    ) -> None:
        """Seal the record and write it. Raises OSError.

        `sealed` is the encoded value if the caller has sealed it already.
        """
        data = sealed or self._json.encode(value)
        if not sealed:
            seal(_task_dir(folder, run), run, {self.name: data})
        write_atomically(folder / self.name, data, durable=durable, named=named)


def _task_dir(folder: Path, run: int) -> Path:
    return folder if run == OF_TASK else folder.parent.parent


def seal(task_dir: Path, run: int, records: dict[str, bytes]) -> None:
    """Add the digests of records that are about to be written. Raises OSError."""
    file = _file(task_dir)
    if file is None:
        return
    lines = "".join(f"{run} {name} {_digest(data)}\n" for name, data in records.items())
    try:
        append(file, lines.encode())
    except FileNotFoundError:
        begin(task_dir.parent.parent)
        append(file, lines.encode())


def write_sealed(task_dir: Path, name: str, data: bytes) -> None:
    """Seal a task's own record and write it, durably. Raises OSError."""
    seal(task_dir, OF_TASK, {name: data})
    write_atomically(task_dir / name, data)


def read_sealed(task_dir: Path, name: str, limit: int) -> bytes:
    """A task's own record if fleet wrote that record; empty: none, or another program's."""
    path = task_dir / name
    try:
        data = read_bounded(path, limit) or b""
    except InvalidTask:
        return b""
    return b"" if data and doubt(task_dir, OF_TASK, path, data) else data


def begin(home: Path) -> None:
    """Seal records from now on, in a home that has not done so."""
    folder = home / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(folder / _SINCE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def doubt(task_dir: Path, run: int, path: Path, data: bytes) -> str:
    """Why the content of a record is not believed; empty if fleet wrote it."""
    file = _file(task_dir)
    if file is None:
        return ""
    try:
        known = _digests(file, run, path.name)
    except InvalidTask as error:
        return error.message
    if _digest(data) in known:
        return ""
    if known:
        return f"{path} is not as fleet wrote it"
    return "" if _is_older(path, file.parent / _SINCE) else f"{path} was not written by fleet"


def is_excused(path: Path) -> bool:
    """The record is from before the machine's last start: a power cut may have cost the seal."""
    booted = time.time() - time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    try:
        return path.lstat().st_ctime < booted
    except OSError:
        return False


def seal_latest(path: Path, data: bytes) -> None:
    """Seal a record that is written again and again, before `data` is written. The record is in a
    directory of the home's that belongs to no task, as `trains/<key>`. Raises OSError.
    """
    file = _latest(path)
    begin(file.parent.parent)
    # The last one stays as well: a process that is killed now never writes the record.
    known = _digests(file, OF_TASK, path.name)
    lines = [f"{OF_TASK} {path.name} {each}\n" for each in [*known, _digest(data)][-2:]]
    write_atomically(file, "".join(lines).encode(), durable=False)


def is_latest(path: Path, data: bytes) -> bool:
    """Whether fleet wrote this content of such a record."""
    try:
        return _digest(data) in _digests(_latest(path), OF_TASK, path.name)
    except InvalidTask:
        return False


def _latest(path: Path) -> Path:
    """Where the seals of one such record are. No task has an id that begins with a dot."""
    folder = path.parent
    name = f".{folder.parent.name}-{folder.name}-{path.name}"
    return folder.parent.parent / FOLDER / name


def _file(task_dir: Path) -> Path | None:
    """Where a task's seals are; None for a directory that is not below a home's `tasks`."""
    if task_dir.parent.name != "tasks":
        return None
    return task_dir.parent.parent.joinpath(FOLDER, task_dir.name)


def _digests(file: Path, run: int, name: str) -> list[str]:
    data = read_bounded(file, _LARGEST) or b""
    head = f"{run} {name} "
    lines = data.decode(errors="replace").splitlines()
    return [line.removeprefix(head) for line in lines if line.startswith(head)]


def _is_older(path: Path, since: Path) -> bool:
    """The record was last changed before this home sealed anything. The kernel keeps that time."""
    try:
        began = since.lstat().st_ctime_ns
    except OSError:
        return True
    try:
        return path.lstat().st_ctime_ns < began
    except OSError:
        return False


def _digest(data: bytes) -> str:
    from hashlib import sha256  # loads OpenSSL, which most commands do without

    return sha256(data).hexdigest()
