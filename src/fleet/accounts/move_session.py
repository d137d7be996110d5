"""Moves a session with the history from one account to another of the same coder.

A CLI looks for a session in its state directory, of which every account has its own. The files of
the session are copied to the same place there; the originals stay.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path

from fleet.coders.base import Coder
from fleet.files.atomic_write import sync_directory

#: A larger session is not moved, since the loop would wait for the copy; the task starts afresh.
_LARGEST = 128 << 20

SessionFiles = tuple[tuple[Path, Path], ...]


def moving(
    coder: Coder, session_id: str, before: Mapping[str, str], after: Mapping[str, str]
) -> SessionFiles | None:
    """What to copy where, by the agent's environment before and after; None: the session cannot be
    moved. Copies nothing yet.
    """
    source, target = coder.transcript(session_id, before), coder.transcript(session_id, after)
    if source is None or target is None:
        return None
    if source[0] == target[0]:
        return ()
    found = sorted(source[0].glob(source[1]))
    try:
        size = sum(path.stat().st_size for path in found)
    except OSError:
        return None  # a file that has just gone cannot be copied either
    if not found or size > _LARGEST:
        return None
    return tuple((path, target[0] / path.relative_to(source[0])) for path in found)


def move(files: SessionFiles) -> None:
    """Copy the files, each whole or not at all. Raises OSError."""
    for source, target in files:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = target.with_name(f".{target.name}.fleet")
        shutil.copyfile(source, fresh)
        fresh.chmod(0o600)
        fresh.replace(target)
        sync_directory(target.parent)
