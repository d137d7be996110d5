"""Overwrites known bytes in a kept file, in place: length and offsets stay."""

import os
from collections.abc import Sequence
from pathlib import Path

from fleet.files.safe_read import SAFELY, is_regular

_CHUNK = 1 << 20


def overwrite(path: Path, values: Sequence[bytes]) -> int:
    """Write asterisks over each occurrence of each value; how many there were.

    A link, a pipe or a missing file is left alone: an agent may have put it there.
    """
    if not values:
        return 0
    try:
        fd = os.open(path, os.O_RDWR | SAFELY)
    except OSError:
        return 0
    try:
        return _overwrite(fd, values) if is_regular(fd) else 0
    finally:
        os.close(fd)


def _overwrite(fd: int, values: Sequence[bytes]) -> int:
    # A value may lie across two chunks.
    overlap = max(map(len, values)) - 1
    at = count = 0
    while chunk := os.pread(fd, _CHUNK + overlap, at):
        for value in values:
            found = chunk.find(value)
            while found >= 0:
                os.pwrite(fd, b"*" * len(value), at + found)
                count += 1
                found = chunk.find(value, found + len(value))
        at += _CHUNK
    return count
