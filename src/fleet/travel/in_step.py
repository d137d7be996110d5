"""The artifacts of a task that a person edited here since this host and the queue had the same.

A person may answer in `artifacts/Q&A.md` by hand. Without a record of what both sides had, the
queue's older copy would replace that answer.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fleet.errors import InvalidTask
from fleet.files.agent_place import AgentPlace
from fleet.files.json_record import JsonRecord
from fleet.travel.pack_run import ARTIFACTS, LARGEST_FILE

_FILE = ".in-step"


class AgreedBytes(NamedTuple):
    """Which bytes a file had."""

    size: int
    sha256: str


Agreed = Mapping[str, AgreedBytes]
_RECORD = JsonRecord(dict[str, AgreedBytes])


def content(data: bytes) -> AgreedBytes:
    return AgreedBytes(len(data), hashlib.sha256(data).hexdigest())


def agreed(task_dir: Path) -> Agreed | None:
    """The artifacts as this host and the queue last had them, by path; None: never noted."""
    return _RECORD.read_or_none(task_dir / _FILE)


def note(task_dir: Path, contents: Agreed) -> None:
    """Note the artifacts that this host and the queue have in common now."""
    _RECORD.write(task_dir / _FILE, dict(contents), durable=False)


def artifacts(task_dir: Path) -> dict[str, AgreedBytes]:
    """What the artifacts of a task are on this host, by path."""
    return {path: content(data) for path, data in _read(task_dir)}


def edited(task_dir: Path) -> dict[str, bytes]:
    """The artifacts that differ from those last agreed on; none if nothing was noted."""
    known = agreed(task_dir)
    if known is None:
        return {}
    return {path: data for path, data in _read(task_dir) if known.get(path) != content(data)}


def _read(task_dir: Path) -> Iterator[tuple[str, bytes]]:
    place = AgentPlace(task_dir)
    for entry in place.walk(ARTIFACTS):
        with suppress(InvalidTask, OSError):  # too large to travel, or no plain file
            if (data := place.read(entry.name, LARGEST_FILE)) is not None:
                yield entry.name, data


def merged(here: bytes, there: bytes, known: AgreedBytes | None) -> bytes:
    """The file to go on with, from this host's copy, the queue's copy, and what both had. Pure.

    An edit of one side wins over the other side's unchanged copy. If both sides changed, text that
    was added at the end here is added to the queue's copy, and any other edit here is dropped.
    """
    if known is None:  # a home of an earlier fleet
        return here if here.startswith(there) else there
    if content(here) == known:
        return there
    if content(there) == known:
        return here
    added = here[known.size :] if content(here[: known.size]) == known else b""
    return there if there.endswith(added) else there + added
