"""Print files: byte for byte into a pipe; on a terminal with control characters escaped, JSON lines
as sentences and diffs in colour.
"""

import codecs
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from fleet.cli.terminal_text import painted
from fleet.schemas import FileChange
from fleet.schemas.shown_text import harmless, one_line

_DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("+", "green"), ("-", "red"), ("@@", "cyan"))


def put_lines(chunks: Iterable[bytes], *, raw: bool) -> None:
    """Print JSON lines: as sentences on a terminal, unless they are wanted raw."""
    if raw or not sys.stdout.isatty():
        put(chunks)
        return
    from fleet.cli.readable_lines import readable

    for line in readable(chunks, datetime.now().astimezone()):
        print(line, flush=True)


def put_diff(chunks: Iterable[bytes]) -> None:
    """Print a diff: in colour on a terminal."""
    if not sys.stdout.isatty():
        put(chunks)
        return
    for line in coloured_diff(chunks):
        print(line)


def coloured_diff(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of a diff, in colour where colours are wanted."""
    for raw in whole_lines(chunks):
        line = raw.decode(errors="replace").removesuffix("\r")  # of a file with CRLF
        style = next((style for start, style in _DIFF_STYLES if line.startswith(start)), "")
        yield painted(harmless(line), style)


def changed_file(file: FileChange) -> str:
    """A file that a run changed, in one line."""
    return f"{file.kind:<8}{one_line(file.path)}  +{file.added} -{file.removed}"


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream that comes in chunks; at the end also what has no end of line."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest


def paged(lines: Sequence[str], *, pager: bool = True) -> None:
    """Print lines: through a pager where they are longer than the terminal."""
    import click

    rows = shutil.get_terminal_size().lines
    if pager and sys.stdout.isatty() and sum(line.count("\n") + 1 for line in lines) >= rows:
        click.echo_via_pager("\n".join(lines) + "\n")
        return
    for line in lines:
        click.echo(line)


def put(chunks: Iterable[bytes]) -> None:
    """Print each chunk at once."""
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
