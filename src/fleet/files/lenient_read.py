"""Files of people, of a CLI or of git, read with care: they may be anything.

Links are followed, as those programs do. Nothing blocks, and no more is read than was asked for.
"""

import os
import stat
from pathlib import Path

from msgspec import Struct


class Content(Struct, frozen=True, kw_only=True):
    """A file, as far as read."""

    data: bytes = b""
    #: All that the file holds.
    size: int = 0
    #: Why the file could not be read; empty if it was read, or is not there.
    problem: str = ""

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")

    @property
    def whole(self) -> bool:
        return not self.problem and len(self.data) == self.size


def read(path: Path | str, most: int) -> Content | None:
    """The beginning of a file; None if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        return Content(problem=getattr(error, "strerror", None) or str(error))
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return Content(problem="it is not a plain file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            return Content(data=file.read(most), size=about.st_size)
    except OSError as error:
        return Content(problem=error.strerror or str(error))
    finally:
        os.close(fd)
