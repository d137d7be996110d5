"""What another program prints, on its way to a terminal: shown, and not obeyed.

A task's text may hold control characters, and the real bd prints it as it is. In a pipe or a file
nothing is changed: a program may read it.
"""

import codecs
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TextIO

from fleet.processes.bounded_call import Stream
from fleet.schemas.shown_text import harmless

#: Seconds that are waited for the last words after the program has ended: a server that the program
#: started may hold the stream open for ever.
_LAST_WORDS = 1.0


@contextmanager
def filtered(
    given: Stream, own: TextIO, before_output: Callable[[], None] | None = None
) -> Generator[Stream]:
    """The stream to start a program with, in the place of `given`; None stands for `own`.

    `before_output` is called before something is written to a terminal.
    """
    if given is not None or not own.isatty():
        yield given
        return
    read, write = os.pipe2(os.O_CLOEXEC)
    copying = threading.Thread(target=_copy, args=(read, own, before_output), daemon=True)
    copying.start()
    try:
        yield write
    finally:
        os.close(write)
        copying.join(_LAST_WORDS)


def _copy(read: int, out: TextIO, before_output: Callable[[], None] | None) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with os.fdopen(read, "rb", buffering=0) as source:
        while data := source.read(1 << 16):
            if before_output is not None:
                before_output()
            out.write(harmless(decoder.decode(data)))
            out.flush()
    out.write(harmless(decoder.decode(b"", final=True)))
    out.flush()
