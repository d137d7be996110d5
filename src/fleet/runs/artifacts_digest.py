"""Whether an agent got anywhere: a fingerprint of the artifacts directory."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from fleet.errors import InvalidTask
from fleet.files.safe_read import read_bounded, walk

#: Larger files, and more of them, are told apart by size and time only.
_LARGEST, _MOST = 1 << 20, 100
#: Files beyond this many are not looked at: notes are few, and the loop must not wait.
_ENOUGH = 1000


#: The fingerprint of a directory without files.
EMPTY = sha256().hexdigest()


def fingerprint(folder: Path) -> str:
    """A hash over the content: a file that was only touched is no progress."""
    digest = sha256()
    for number, (name, path) in enumerate(_files(folder)):
        if number >= _ENOUGH:
            break
        digest.update(f"{name}:".encode(errors="replace"))
        digest.update(_content(path, whole=number < _MOST))
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for root, folders, files in walk(str(folder)):
        folders.sort()
        for name in sorted(files):
            path = Path(root, name)
            yield str(path.relative_to(folder)), path


def _content(path: Path, *, whole: bool) -> bytes:
    try:
        about = path.lstat()
        if whole and about.st_size <= _LARGEST:
            return sha256(read_bounded(path, _LARGEST) or b"").digest()
    except (OSError, InvalidTask):
        return b"?"  # the file went away while we looked, or is a link or a pipe
    return f"{about.st_size}:{about.st_mtime_ns}".encode()
