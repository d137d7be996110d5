"""Print files: byte for byte into a pipe, with control characters escaped on a terminal."""

import codecs
import sys
from collections.abc import Iterable

from fleet.cli.terminal_text import harmless


def put(chunks: Iterable[bytes]) -> None:
    """Print each chunk as soon as it comes."""
    out = sys.stdout.buffer
    if not sys.stdout.isatty():
        for chunk in chunks:
            out.write(chunk)
            out.flush()
        return
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for chunk in chunks:
        sys.stdout.write(harmless(decoder.decode(chunk)))
        sys.stdout.flush()
    sys.stdout.write(harmless(decoder.decode(b"", final=True)))
