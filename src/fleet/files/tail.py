"""Following an agent's growing stream: bytes into lines, and a file from an offset on.

Lines are bytes and end with a newline only; NULs, bad UTF-8 and lone carriage returns pass
through. A line has a bound, so no agent can make the reader's memory grow.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fleet.files.agent_place import AgentFile
from fleet.files.safe_read import open_sized

MAX_LINE = 1 << 20
#: Bytes that one `read` takes at most, so that one flooding agent does not starve the others, and
#: so that a portion and what is made of it stay in the processor's cache.
_HELPING = 1 << 18


class StreamLine(Struct, frozen=True):
    """One line without the newline."""

    data: bytes
    #: Bytes cut from the end of a line that was too long. They are still in the file.
    dropped: int = 0
    #: False for a last line without a newline.
    whole: bool = True


class Framer:
    """Cuts a stream of bytes into lines, wherever chunks begin and end."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self.max_line = max_line
        #: Bytes of the lines that were returned, newlines included: where a later framer goes on.
        self.framed = 0
        self._head = bytearray()
        self._dropped = 0

    def feed(self, chunk: bytes) -> list[StreamLine]:
        """The lines that this chunk completes."""
        *ends, rest = chunk.split(b"\n")
        lines: list[StreamLine] = []
        for end in ends:
            if self._head or self._dropped or len(end) > self.max_line:
                self._take(end)
                line = self._give(whole=True)
            else:  # most lines lie whole in one chunk
                line = StreamLine(end)
                self.framed += len(end)
            self.framed += 1
            lines.append(line)
        self._take(rest)
        return lines

    def finish(self) -> StreamLine | None:
        """The rest once the writer has ended: a line without a newline, or None."""
        return self._give(whole=False) if self._head or self._dropped else None

    def _take(self, piece: bytes) -> None:
        room = self.max_line - len(self._head)
        self._head += piece[:room]
        self._dropped += max(0, len(piece) - room)

    def _give(self, *, whole: bool) -> StreamLine:
        line = StreamLine(bytes(self._head), self._dropped, whole)
        self.framed += len(line.data) + line.dropped
        self._head.clear()
        self._dropped = 0
        return line


class Follower:
    """Reads what is new in one file. No descriptor stays open: 500 quiet agents cost none."""

    def __init__(self, file: Path | AgentFile, offset: int = 0) -> None:
        self._file = file
        self._base = offset
        self._framer = Framer()
        #: How far the file is read; lines were returned up to `offset`.
        self.place = offset
        #: The last `read` left some of the file unread.
        self.more = False

    @property
    def offset(self) -> int:
        """Where a later follower begins, to lose and repeat no line."""
        return self._base + self._framer.framed

    def read(self) -> list[StreamLine]:
        """The next complete lines; `behind` tells whether there are more."""
        chunk = self._next_chunk()
        self.place += len(chunk)
        return self._framer.feed(chunk)

    @property
    def behind(self) -> bool:
        """The file holds more than was read."""
        return self._size() > self.place

    def finish(self) -> Iterator[StreamLine]:
        """All remaining lines once the writer has ended; the last one may lack a newline."""
        before = -1
        while self.behind and self.place != before:
            before = self.place
            yield from self.read()
        if last := self._framer.finish():
            yield last

    def _size(self) -> int:
        if isinstance(self._file, AgentFile):
            return self._file.size()
        try:
            return self._file.lstat().st_size
        except OSError:  # there is none, or its directory is gone
            return 0

    def _next_chunk(self) -> bytes:
        self.more = False
        file = self._file
        found = file.open() if isinstance(file, AgentFile) else open_sized(file)
        if found is None:
            return b""
        fd, size = found
        try:
            if size < self.place:
                self._start_over()
            self.more = size - self.place > _HELPING
            return os.pread(fd, min(size - self.place, _HELPING), self.place)
        finally:
            os.close(fd)

    def _start_over(self) -> None:
        """The file was truncated: all content is new."""
        self._base = self.place = 0
        self._framer = Framer()
