"""The lines of another host's run, added to the files that grow over all runs of a task: each once,
whenever the disk is full or the process is killed in between.

The lines wait in the run's directory, which appears in one step, until all of them are added.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fleet.files.append_file import append
from fleet.files.atomic_write import write_atomically

#: A file that has come to this size takes no more.
_LARGEST = 256 << 20
#: Bytes that are added at a time, unless one line has more.
_CHUNK = 1 << 20


def add_lines(run: Path, target: Path) -> bool:
    """Add the lines that wait in a run's directory under the target's name; False: there are none.

    Raises OSError: the same again goes on where it was.
    """
    waiting, place = run / target.name, run / f".{target.name}.from"
    try:
        with waiting.open("rb") as lines:
            start = _start(place, target)
            lines.seek(_added(lines, target, start))
            for some in _whole_lines(lines):
                if not append(target, some, limit=_LARGEST):
                    break
    except FileNotFoundError:
        return False
    waiting.unlink()
    place.unlink(missing_ok=True)
    return True


def _start(place: Path, target: Path) -> int:
    """Where in the target the lines begin: at its end, when the first of them was about to come."""
    with suppress(FileNotFoundError, ValueError):
        return int(place.read_text(encoding="ascii"))
    size = target.stat().st_size if target.exists() else 0
    write_atomically(place, str(size).encode())
    return size


def _added(lines: BinaryIO, target: Path, start: int) -> int:
    """How many bytes of the lines are in the target from a place on already: whole lines."""
    done = 0
    with suppress(FileNotFoundError), target.open("rb") as there:
        there.seek(start)
        for line in lines:
            if not line.endswith(b"\n") or there.read(len(line)) != line:
                break
            done += len(line)
    return done


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, some whole lines at a time."""
    while lines := file.readlines(_CHUNK):
        yield b"".join(lines)
