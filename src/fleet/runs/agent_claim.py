"""What an agent said of its own task through `bd`: `runs/<n>/said.json`.

It is a claim, and only evidence. The agent's `bd close` lands here instead of in the queue, and
the supervisor decides what becomes of it.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_plain

FILE = "said.json"
_LARGEST = 1 << 20


class Said(Struct, frozen=True, kw_only=True):
    """The last word of the agent; saying one thing takes back the other."""

    #: The reason that it gave with `close`; None: it never closed.
    done: str | None = None
    #: The notes that it blocked the task with; None: it did not.
    blocked: str | None = None
    #: The mark of the run that said it.
    by: str = ""


def record(run_dir: Path, said: Said) -> None:
    write_atomically(run_dir / FILE, msgspec.json.encode(said))


def read(run_dir: Path, by: str | None = None) -> Said:
    """What was said, or nothing. A file that cannot be read says nothing either, and neither does
    the word of another run, if `by` tells whose it must be.
    """
    try:
        data = read_plain(run_dir / FILE, _LARGEST)
        said = Said() if data is None else msgspec.json.decode(data, type=Said)
        return said if by is None or said.by == by else Said()
    except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
        return Said()
