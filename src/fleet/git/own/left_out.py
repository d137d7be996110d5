"""What a snapshot does not hold: files that are not stored, each with a mark that shows a change of
the file, and directories that hide themselves from git.

Not stored are new files that are too large, cannot be read, bear the name of a secret, or are too
many together. A directory hides itself by a `.gitignore` that names all that is in it. Many tools
make such a directory for their cache; whatever else does it, a reader of the receipt is to know.
"""

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress

from fleet.errors import InvalidTask
from fleet.files.agent_place import AgentPlace
from fleet.git.git_command import Git

#: Larger files are marked by their size and times.
_LARGEST = 1 << 20
_CONTENT = "content:"
_STAT = "stat:"
_RULES = ".gitignore"
#: How many directories that hide themselves are told, and how a snapshot's message tells its time.
_MOST = 100
_TIME = "at: "


def mark_of(root: str, name: str, *, like: str = _CONTENT) -> str:
    """A mark of a file below `root` at this moment, made as the mark `like` was; empty if there is
    no file.
    """
    place = AgentPlace(root)
    found = place.look(name)
    if found is None:
        return ""
    if like.startswith(_CONTENT) and found.is_file and found.size <= _LARGEST:
        with suppress(InvalidTask, OSError):  # it cannot be read, or is something else by now
            if (data := place.read(name, _LARGEST)) is not None:
                return f"{_CONTENT}{hashlib.sha256(data).hexdigest()}"
    # The time of the last change of the entry cannot be set back.
    return f"{_STAT}{found.mode:o}:{found.size}:{found.mtime_ns}:{found.ctime_ns}"


def quick_mark(root: str, name: str) -> str:
    """A mark of a file at this moment by its size and times: the file is not read."""
    return mark_of(root, name, like=_STAT)


def encode(left_out: Mapping[str, str]) -> bytes:
    """The marks by name, as they are stored beside a snapshot. Pure."""
    return b"".join(os.fsencode(f"{mark}\t{name}\0") for name, mark in left_out.items())


def decode(data: bytes) -> dict[str, str]:
    """The reverse of `encode`. Pure."""
    entries = (entry.partition(b"\t") for entry in data.split(b"\0") if entry)
    return {os.fsdecode(name): mark.decode(errors="replace") for mark, _, name in entries}


def hidden_directories(git: Git, snapshot: str) -> tuple[str, ...]:
    """The directories that hide themselves and did not when the snapshot was taken.

    `git` is in fleet's own repository, on the index and with the ignore rules of the snapshot.
    """
    began = _time_of(git, snapshot)
    ask = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    found: list[str] = []
    for entry in git.ask(*ask).split(b"\0"):
        folder, _, name = os.fsdecode(entry).rpartition("/")
        if name == _RULES and folder and _changed_since(f"{git.repo.root}/{folder}/{name}", began):
            found.append(folder)
    return tuple(sorted(found)[:_MOST])


def time_line(nanoseconds: int) -> str:
    """The line of a snapshot's message that says when the snapshot was begun. Pure."""
    return f"{_TIME}{nanoseconds}"


def _time_of(git: Git, snapshot: str) -> int:
    """When a snapshot was begun, in nanoseconds; 0: the snapshot tells no time."""
    message = git.ask("cat-file", "commit", snapshot).decode(errors="replace")
    times = [line.removeprefix(_TIME) for line in message.splitlines() if line.startswith(_TIME)]
    return int(times[-1]) if times and times[-1].isdigit() else 0


def _changed_since(path: str, began: int) -> bool:
    try:
        # The time of the last change of the entry, which cannot be set back.
        return os.lstat(path).st_ctime_ns >= began > 0
    except OSError:
        return False
