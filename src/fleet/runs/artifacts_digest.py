"""Whether an agent got anywhere: a fingerprint of the artifacts directory."""

from hashlib import sha256
from itertools import islice
from pathlib import Path

from fleet.errors import InvalidTask
from fleet.files.agent_place import AgentEntry, AgentPlace

#: Larger files, and more of them, are told apart by size and time only.
_LARGEST, _MOST = 1 << 20, 100
#: Files beyond this many are not looked at: notes are few, and the loop must not wait.
_ENOUGH = 1000


#: The fingerprint of a directory without files.
EMPTY = sha256().hexdigest()


def fingerprint(folder: Path) -> str:
    """A hash over the content: a file that was only touched is no progress."""
    digest = sha256()
    place = AgentPlace(folder.parent)
    for number, entry in enumerate(islice(place.walk(folder.name), _ENOUGH)):
        digest.update(f"{entry.name}:".encode(errors="replace"))
        digest.update(_content(place, entry, whole=number < _MOST))
    return digest.hexdigest()


def _content(place: AgentPlace, entry: AgentEntry, *, whole: bool) -> bytes:
    if not whole or entry.size > _LARGEST:
        return f"{entry.size}:{entry.mtime_ns}".encode()
    try:
        return sha256(place.read(entry.name, _LARGEST) or b"").digest()
    except (OSError, InvalidTask):
        return b"?"  # the file went away while we looked, or is a link or a pipe
