"""`trusted-coders.json` in the home: the coder files that a person listed, each with a digest.

A coder's file is code that runs inside the supervisor, or names a command that the supervisor
starts. So it is loaded only with the content that a person trusted by `fleet coders trust`.
"""

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet.errors import BadInput
from fleet.extend import Gate, HomeMoment, SubjectFacts, TaskStart
from fleet.files import lenient_read
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import stamp_of
from fleet.schemas.task_state import Wait, WayOn

FILE = "trusted-coders.json"
FOLDER = "coders"
_LARGEST = 1 << 20


class TrustedFile(Struct, frozen=True, kw_only=True):
    """One file as a person trusted it."""

    sha256: str
    at: datetime


_RECORD = JsonRecord(dict[str, TrustedFile])


class Untrusted(BadInput):
    """No person has trusted this coder's file with this content."""

    def __init__(self, coder: str, message: str) -> None:
        super().__init__(message)
        self.coder = coder


def read_trusted(path: Path) -> bytes:
    """The content of a coder's file. Raises Untrusted, and BadInput if it cannot be read."""
    data = _content(path)
    known = _table(path.parent.parent).get(path.name)
    if known is None or known.sha256 != _digest(data):
        what = "was changed since it was trusted" if known else "is not trusted"
        way = f"fleet coders trust {path.stem}"
        text = f"coder {path.stem}: {path} {what}; read it, and if it is yours: {way}"
        raise Untrusted(path.stem, text)
    return data


def stamp(path: str) -> tuple[int, ...]:
    """A value that changes with a coder's file, and with what is trusted; costs two stats.

    The value holds the time of change as the kernel keeps it, which no program can set back.
    """
    about = os.stat(path)  # noqa: PTH116 - every run of an added coder asks
    own = (about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino)
    home = os.path.dirname(os.path.dirname(path))  # noqa: PTH120
    return (*own, *stamp_of(f"{home}/{FILE}"))


def trust(home: Path, names: Iterable[str], now: datetime) -> list[Path]:
    """Trust the files of these coders as they are now; the files. Raises BadInput."""
    table = dict(_table(home))
    paths = [_file(home, name) for name in names]
    for path in paths:
        table[path.name] = TrustedFile(sha256=_digest(_content(path)), at=now)
    _RECORD.write(home / FILE, table)
    return paths


def untrusted(home: Path) -> list[str]:
    """The names of the coders whose files would not be loaded."""
    found: list[str] = []
    for path in files(home):
        try:
            read_trusted(path)
        except BadInput:
            found.append(path.stem)
    return found


def files(home: Path) -> list[Path]:
    """The coder files in a home."""
    try:
        paths = sorted((home / FOLDER).iterdir())
    except OSError:
        return []
    return [each for each in paths if is_coder_file(each.name)]


def is_coder_file(name: str) -> bool:
    """Whether a file of this name in the home's `coders` declares a coder."""
    return name.endswith((".toml", ".py")) and not name.startswith((".", "_"))


def _file(home: Path, name: str) -> Path:
    for path in files(home):
        if name in (path.stem, path.name):
            return path
    raise BadInput(f"there is no {home / FOLDER / name}.toml or .py", hint="See: fleet coders")


def _content(path: Path) -> bytes:
    """The content of a file; a person may have made the file a link, and the digest holds what the
    link leads to.
    """
    found = lenient_read.read(path, _LARGEST + 1)
    problem = "it is not there" if found is None else found.problem
    if found is not None and found.size > _LARGEST:
        problem = f"it is larger than {_LARGEST} bytes"
    if found is None or problem:
        raise BadInput(f"coder {path.stem}: {path} cannot be read: {problem}")
    return found.data


def _table(home: Path) -> dict[str, TrustedFile]:
    return _RECORD.read_or_none(home / FILE) or {}


def _digest(data: bytes) -> str:
    from hashlib import sha256  # most homes have no such file

    return sha256(data).hexdigest()


class StrangeCoders(SubjectFacts, frozen=True, kw_only=True):
    """The coders whose files no person has trusted."""

    names: frozenset[str] = frozenset()


class CoderTrusted(Gate):
    """A person has to trust the file of a coder before fleet loads the file."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        strange = at.of(StrangeCoders).names
        name = next((each for each in start.coders if each in strange), "")
        if not name:
            return None
        reason = f"no person has trusted the file of the coder {name}"
        way = WayOn(verb="", line=f"fleet coders trust {name}")
        return Wait(gate="coder", reason=reason, way_on=way, person=True, declined=reason)
