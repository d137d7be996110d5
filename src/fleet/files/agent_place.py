"""The door to a directory that agents can write to.

An agent may put a link, a pipe or a directory in the place of any file, and swap them while fleet
looks. So a path below such a directory is never opened as a whole: each part is opened below the
descriptor of the one before, without following a link. A file is opened once, without waiting, and
what was opened is checked. As no name holds "..", nothing outside of the directory can be reached.
`AgentPlace` has no `__fspath__` and no `/`: `open`, `Path` and `shutil` do not take one.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_all
from fleet.files.put_aside import ASIDE
from fleet.files.safe_read import SAFELY

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WAY_OUT = "Move it away to go on."
#: How opening fails where an agent put something else in the place of a file or a directory.
_PLANTED = (errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EISDIR, errno.EACCES, errno.EMLINK)
_CHUNK = 1 << 20
#: Entries of one directory that are looked at, unless the caller says otherwise.
MOST_ENTRIES = 1_000_000
#: Directories that one search or walk opens at most.
_MOST_FOLDERS = 100_000


class AgentEntry(Struct, frozen=True, kw_only=True):
    """What has a name in a place: its own facts, not those of a link's target."""

    #: Below the place, with slashes.
    name: str
    mode: int
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    owner: int = -1

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)


class AgentFile(Struct, frozen=True):
    """One file in a place: what a reader needs that follows it."""

    place: "AgentPlace"
    name: str

    def open(self) -> tuple[int, int] | None:
        return self.place.open(self.name)

    def size(self) -> int:
        """Bytes of the regular file; 0 if there is none."""
        found = self.place.look(self.name)
        return found.size if found is not None and found.is_file else 0


class AgentPlace:
    """One directory that agents can write to. Making one touches nothing."""

    __slots__ = ("_root", "shown")

    def __init__(self, root: Path | str) -> None:
        """`root` is a path that no agent can replace, or one of the operator's that may be a link:
        below it no link is followed.
        """
        self._root = os.fspath(root)
        #: For messages, and for the arguments of another program.
        self.shown = self._root

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AgentPlace) and self._root == other._root

    def __hash__(self) -> int:
        return hash(self._root)

    def __repr__(self) -> str:
        return f"AgentPlace({self._root!r})"

    # Reading

    def open(self, name: str) -> tuple[int, int] | None:
        """A descriptor to read a regular file, and its size; None if there is no file.

        Raises InvalidTask where something else has the name, OSError for a fault of the machine.
        """
        with self._above(name) as (folder, last):
            if folder is None:
                return None
            return self._open_in(folder, name, last)

    def read(self, name: str, limit: int) -> bytes | None:
        """The content of a regular file of at most `limit` bytes; None if there is no file.

        Raises InvalidTask for a larger file and for anything else that has the name.
        """
        data = self.beginning(name, limit + 1)
        if data is not None and len(data) > limit:
            raise InvalidTask(f"{self._root}/{name} is larger than {limit} bytes", hint=_WAY_OUT)
        return data

    def beginning(self, name: str, most: int) -> bytes | None:
        """The first `most` bytes of a regular file; None if there is no file."""
        found = self.open(name)
        if found is None:
            return None
        fd, _ = found
        try:
            return b"".join(_chunks(fd, most))
        finally:
            os.close(fd)

    def look(self, name: str) -> AgentEntry | None:
        """What has a name; None if nothing has. A link is a link here, wherever it leads."""
        try:
            with self._above(name) as (folder, last):
                return None if folder is None else _entry(folder, name, last)
        except InvalidTask:
            return None

    def entries(self, name: str = "", most: int = MOST_ENTRIES) -> list[AgentEntry]:
        """What a directory holds, by name; empty where there is no directory.

        Of more than `most` entries the first that the file system tells of.
        """
        try:
            with self._directory(_parts(name)) as folder:
                if folder is None:
                    return []
                below = f"{name}/" if name else ""
                with os.scandir(folder) as entries:
                    some = list(islice(entries, most))
                found = (_entry(folder, f"{below}{each.name}", each.name) for each in some)
                return sorted(filter(None, found), key=lambda entry: entry.name)
        except InvalidTask:
            return []

    def count(self, name: str, most: int) -> int:
        """The number of entries of a directory, `most` at most; 0 where there is no directory."""
        try:
            with self._directory(_parts(name)) as folder:
                if folder is None:
                    return 0
                with os.scandir(folder) as entries:
                    return sum(1 for _ in islice(entries, most))
        except InvalidTask:
            return 0

    def walk(self, name: str = "") -> Iterator[AgentEntry]:
        """Everything below a directory that is no directory itself, in no order."""
        left = [name]
        for _ in range(_MOST_FOLDERS):
            if not left:
                return
            for entry in self.entries(left.pop()):
                if entry.is_directory:
                    left.append(entry.name)
                else:
                    yield entry

    def find(self, pattern: str) -> list[AgentEntry]:
        """The regular files whose names match, by name: `*` within a part, `**` for any parts."""
        parts = pattern.split("/")
        found: dict[str, AgentEntry] = {}
        left: list[tuple[str, Sequence[str]]] = [("", parts)]
        for _ in range(_MOST_FOLDERS):
            if not left:
                break
            name, (part, *rest) = left.pop()
            if part == "**":
                left += [(name, rest)] if rest else []
            for entry in self.entries(name):
                last = entry.name.rpartition("/")[2]
                if part == "**":
                    left += [(entry.name, (part, *rest))] if entry.is_directory else []
                elif fnmatchcase(last, part):
                    if rest and entry.is_directory:
                        left.append((entry.name, rest))
                    elif not rest and entry.is_file:
                        found[entry.name] = entry
        return [found[name] for name in sorted(found)]

    def files(self, pattern: str) -> list["AgentFile"]:
        """The files that `find` finds, to be opened later."""
        return [AgentFile(self, entry.name) for entry in self.find(pattern)]

    # Writing

    def link(self, name: str, to: Path) -> bool:
        """Give a regular file one more name, or copy it where that cannot be; False: there is no
        such file, or something else. `to` is no agent's.
        """
        try:
            with self._above(name) as (folder, last):
                if folder is None:
                    return False
                try:
                    os.link(last, to, src_dir_fd=folder, follow_symlinks=False)
                except FileNotFoundError:
                    return False
                except OSError:  # another file system, or links are not allowed
                    return self._copy_out(folder, name, last, to)
        except InvalidTask:
            return False
        if stat.S_ISREG(to.lstat().st_mode):
            return True
        to.unlink()
        return False

    def copy_out(self, name: str, to: Path, limit: int) -> bool:
        """Copy a regular file of at most `limit` bytes, with its time, to a new path that is no
        agent's. False: there is no file. Raises InvalidTask as `read` does.
        """
        with self._above(name) as (folder, last):
            if folder is None:
                return False
            return self._copy_out(folder, name, last, to, limit)

    def _copy_out(
        self, folder: int, name: str, last: str, to: Path, limit: int | None = None
    ) -> bool:
        found = self._open_in(folder, name, last)
        if found is None:
            return False
        source, size = found
        try:
            if limit is not None and size > limit:
                why = f"{self._root}/{name} is larger than {limit} bytes"
                raise InvalidTask(why, hint=_WAY_OUT)
            about = os.fstat(source)
            with to.open("xb") as copy:
                for chunk in _chunks(source, size):
                    copy.write(chunk)
            os.utime(to, ns=(about.st_atime_ns, about.st_mtime_ns))
        finally:
            os.close(source)
        return True

    def write(
        self,
        name: str,
        data: bytes,
        mode: int = 0o600,
        *,
        durable: bool = True,
        make: bool = True,
    ) -> None:
        """Put a file in place in one step, with the directories above it if `make`.

        Raises InvalidTask where a directory above it is something else, OSError otherwise.
        """
        with self.fresh(name, mode, durable=durable, make=make) as fd:
            write_all(fd, data)

    def copy(self, name: str, target: "AgentPlace", to: str, limit: int) -> bool:
        """Copy a regular file of at most `limit` bytes to another place, whole or not at all.

        False: there is no such file. Raises InvalidTask and OSError as `read` and `write`.
        """
        found = self.open(name)
        if found is None:
            return False
        source, _ = found
        try:
            with target.fresh(to, 0o600, durable=True) as fd:
                copied = 0
                for chunk in _chunks(source, limit + 1):
                    copied += len(chunk)
                    if copied > limit:
                        why = f"{self._root}/{name} is larger than {limit} bytes"
                        raise InvalidTask(why, hint=_WAY_OUT)
                    write_all(fd, chunk)
        finally:
            os.close(source)
        return True

    @contextmanager
    def fresh(self, name: str, mode: int, *, durable: bool, make: bool = True) -> Generator[int]:
        """A new file to write, which has the name `name` once the block has ended well."""
        *above, last = _parts(name)
        with self._directory(above, make=make) as folder:
            if folder is None:
                raise FileNotFoundError(errno.ENOENT, "gone", f"{self._root}/{name}")
            temporary = f".{last[:100]}.{os.urandom(6).hex()}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFELY
            fd = os.open(temporary, flags, 0o600, dir_fd=folder)
            try:
                try:
                    yield fd
                    os.fchmod(fd, mode)
                    if durable:
                        os.fsync(fd)
                finally:
                    os.close(fd)
                os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            if durable:
                os.fsync(folder)

    def make_directory(self, name: str) -> None:
        """Make a directory with those above it, for the user alone. One that is there stays."""
        with self._directory(_parts(name), make=True):
            pass

    def remove(self, name: str) -> None:
        """Remove a file or a link, or an empty directory. What is not there is removed."""
        with self._above(name) as (folder, last):
            if folder is None:
                return
            with suppress(FileNotFoundError):
                try:
                    os.unlink(last, dir_fd=folder)
                except (IsADirectoryError, PermissionError):
                    os.rmdir(last, dir_fd=folder)

    def remove_file(self, name: str) -> None:
        """Remove a file or a link, and the directories above it that become empty by that."""
        self.remove(name)
        with suppress(InvalidTask, OSError):  # a directory that is not empty, or none any more
            while name := name.rpartition("/")[0]:
                with self._above(name) as (folder, last):
                    if folder is None:
                        return
                    os.rmdir(last, dir_fd=folder)

    def put_aside(self, name: str) -> None:
        """Rename whatever has a name to `NAME.aside-…`; nothing where nothing has."""
        with suppress(InvalidTask), self._above(name) as (folder, last):
            if folder is not None:
                with suppress(FileNotFoundError):
                    fresh = f"{last}{ASIDE}{os.urandom(4).hex()}"
                    os.rename(last, fresh, src_dir_fd=folder, dst_dir_fd=folder)

    # Below the descriptors

    def _open_in(self, folder: int, name: str, last: str) -> tuple[int, int] | None:
        try:
            fd = os.open(last, os.O_RDONLY | SAFELY, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refusal(name, error) from error
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            os.close(fd)
            raise InvalidTask(f"{self._root}/{name} is not a plain file", hint=_WAY_OUT)
        return fd, about.st_size

    @contextmanager
    def _above(self, name: str) -> Generator[tuple[int | None, str]]:
        """The directory that holds a name, and the name's last part."""
        *above, last = _parts(name) or [""]
        if not last:
            raise ValueError("no file has an empty name")
        with self._directory(above) as folder:
            yield folder, last

    @contextmanager
    def _directory(self, parts: Sequence[str], *, make: bool = False) -> Generator[int | None]:
        """The descriptor of a directory below the root; None if there is none."""
        fd = self._descend(parts, make=make)
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)

    def _descend(self, parts: Sequence[str], *, make: bool) -> int | None:
        if make:
            os.makedirs(self._root, 0o700, exist_ok=True)  # noqa: PTH103
        try:
            fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refusal("", error) from error
        for part in parts:
            try:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=fd)
                below = os.open(part, _DIRECTORY, dir_fd=fd)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise self._refusal("/".join(parts), error) from error
            finally:
                os.close(fd)
            fd = below
        return fd

    def _refusal(self, name: str, error: OSError) -> Exception:
        """The error to raise: what an agent may have put there, or a fault of the machine."""
        if error.errno not in _PLANTED:
            return error
        where = f"{self._root}/{name}".rstrip("/")
        return InvalidTask(f"{where} cannot be opened: {error.strerror}", hint=_WAY_OUT)


def _parts(name: str) -> list[str]:
    parts = name.split("/") if name else []
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{name!r} is no name below a directory")
    return parts


def _entry(folder: int, name: str, last: str) -> AgentEntry | None:
    try:
        about = os.stat(last, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return AgentEntry(
        name=name,
        mode=about.st_mode,
        size=about.st_size,
        mtime_ns=about.st_mtime_ns,
        ctime_ns=about.st_ctime_ns,
        inode=about.st_ino,
        owner=about.st_uid,
    )


def _chunks(fd: int, most: int) -> Iterator[bytes]:
    """What a file holds, at most `most` bytes of it, even of one that grows."""
    while most > 0 and (chunk := os.read(fd, min(_CHUNK, most))):
        most -= len(chunk)
        yield chunk
