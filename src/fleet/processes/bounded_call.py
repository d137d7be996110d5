"""Runs a program to the end, bounded in time and output, in a process group that dies with the
program.

The program may hang, flood or leave processes behind. How the call went is a value.
"""

import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from msgspec import Struct

_LIMIT = 8 << 20
#: Of the error stream the end is kept: programs say there why they failed.
_ERROR_TAIL = 64 << 10
_CHUNK = 1 << 18
#: Seconds between two looks whether the program has ended while another process holds its pipes.
_LOOK = 0.05

#: A descriptor or file for a program's stream; None: that of this process.
Stream = int | IO[Any] | None
DEVNULL = subprocess.DEVNULL

CallFault = Literal["not started", "timeout", "flood"]


class Exited(Struct, frozen=True, kw_only=True):
    """The program ended, well or not."""

    #: The exit code, or the negative number of the signal that ended the program.
    code: int
    out: bytes
    #: The end of the error stream.
    err: str

    @property
    def text(self) -> str:
        return self.out.decode(errors="replace")

    @property
    def problem(self) -> str:
        """Empty, as opposed to `CallFailed.problem`."""
        return ""


class CallFailed(Struct, frozen=True, kw_only=True):
    """The program could not be started, or was killed at a bound."""

    fault: CallFault
    #: The fault in words that follow the program's name.
    problem: str
    out: bytes = b""
    err: str = ""
    #: Why the program could not be started.
    error: OSError | ValueError | None = None

    @property
    def text(self) -> str:
        return self.out.decode(errors="replace")

    @property
    def code(self) -> None:
        """None: there is no exit code."""


def call(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    stdin: Stream | bytes = DEVNULL,
    limit: int = _LIMIT,
    sink: Callable[[bytes], object] | None = None,
    leave_children: bool = False,
    memory: int = 0,
) -> Exited | CallFailed:
    """Run a program until the end, `timeout` seconds or `limit` bytes of output.

    `memory` is the number of bytes that the program, and each that it starts, may have; 0: any.

    Output goes to `sink` in pieces if there is one, and into the result otherwise. A process that
    the program leaves behind with its pipes is not waited for. Such processes are killed, unless
    `leave_children` is given and the program ended by itself.
    """
    until = time.monotonic() + timeout
    try:
        process = _start(argv, env, cwd, stdin)
    except (OSError, ValueError) as error:
        problem = f"cannot be started: {getattr(error, 'strerror', None) or error}"
        return CallFailed(fault="not started", problem=problem, error=error)
    if memory and sys.platform == "linux":
        with suppress(ProcessLookupError):  # it has ended
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory, memory))
    out = bytearray()
    ended = False
    try:
        fault, errors = _collect(process, until, limit, sink or out.extend)
        ended = not fault
    finally:
        _clean_up(process, kill=not (ended and leave_children))
    err = errors.decode(errors="replace")
    if not fault:
        return Exited(code=process.returncode, out=bytes(out), err=err)
    late = f"did not answer within {timeout:g} s"
    problem = late if fault == "timeout" else "does not stop printing"
    return CallFailed(fault=fault, problem=problem, out=bytes(out), err=err)


class Dialogue:
    """A program that answers lines with lines, until a moment of the monotonic clock."""

    def __init__(self, process: "subprocess.Popen[bytes]", until: float, limit: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._until, self._left = until, limit
        self._rest = b""

    def send(self, line: bytes) -> bool:
        """False if the program does not read any more."""
        try:
            self._in.write(line + b"\n")
            self._in.flush()
        except (OSError, ValueError):
            return False
        return True

    def receive(self) -> bytes | None:
        """The program's next line; None if none comes in time, or the program has ended."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._out, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = self._until - time.monotonic()
                if left <= 0 or self._left <= 0 or not ready.select(left):
                    return None
                data = os.read(self._out.fileno(), _CHUNK)
                if not data:
                    return None
                self._left -= len(data)
                self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line


@contextmanager
def dialogue(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    limit: int = _LIMIT,
) -> Generator[Dialogue]:
    """Start a program to exchange lines with; the program is killed in the end. Raises OSError."""
    until = time.monotonic() + timeout
    process = _start(argv, env, cwd, subprocess.PIPE, stderr=DEVNULL)
    try:
        yield Dialogue(process, until, limit)
    finally:
        _clean_up(process, kill=True)


def _start(
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: Path | str | None,
    stdin: Stream | bytes,
    stderr: int = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    if isinstance(stdin, bytes):
        import tempfile

        with tempfile.TemporaryFile() as file:  # a pipe would have to be fed while output is read
            file.write(stdin)
            file.seek(0)
            return _start(argv, env, cwd, file, stderr)
    return subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
        start_new_session=True, bufsize=0,
    )  # fmt: skip


def _clean_up(process: "subprocess.Popen[bytes]", *, kill: bool) -> None:
    if kill:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError):  # unwritten input of a program that has ended
            if pipe is not None:
                pipe.close()
    process.wait()


def _collect(
    process: "subprocess.Popen[bytes]", until: float, limit: int, take: Callable[[bytes], object]
) -> tuple[CallFault | Literal[""], bytearray]:
    """Read both pipes until the program has ended; the fault, and the end of the error stream."""
    assert process.stdout is not None
    assert process.stderr is not None
    taken, errors = 0, bytearray()
    with selectors.DefaultSelector() as pipes:
        pipes.register(process.stdout, selectors.EVENT_READ)
        pipes.register(process.stderr, selectors.EVENT_READ, errors)
        while pipes.get_map():
            ended = process.poll() is not None
            left = until - time.monotonic()
            if left <= 0:
                return "timeout", errors
            ready = pipes.select(0 if ended else min(left, _LOOK))
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    pipes.unregister(key.fileobj)
                elif key.data is errors:
                    errors += chunk
                    del errors[:-_ERROR_TAIL]
                else:
                    take(chunk[: limit - taken])
                    taken += len(chunk)
            if taken > limit:
                return "flood", errors
            if ended and not ready:  # another process holds the pipes, perhaps for ever
                break
    try:
        process.wait(max(0.01, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return "timeout", errors
    return "", errors
