"""Directories that hide themselves from git: their own `.gitignore` names all that is in them.

Many tools make such a directory for their cache. Whatever else does it, a reader of the receipt is
to know.
"""

import os

from fleet.git.git_command import Git

_RULES = ".gitignore"
_MOST = 100
_TIME = "at: "


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
