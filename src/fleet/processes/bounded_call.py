"""Starts a program for what it says: bounded in time and size, in a group that dies with it.

It starts processes, as few modules may. What it starts may hang, flood or leave others behind.
"""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

#: Nothing that we ask for is longer.
_MOST = 8 << 20
_CHUNK = 1 << 16
#: How often we look whether it is gone while somebody else holds its pipes, in seconds.
_LOOK = 0.05


class Heard(Struct, frozen=True, kw_only=True):
    """What a program said."""

    #: None: it was not waited for, or a signal ended it.
    code: int | None = None
    out: str = ""
    err: str = ""
    #: Why there is nothing to be had from it; empty if there is.
    problem: str = ""


def hear(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    patience: float,
    most: int = _MOST,
) -> Heard:
    """All that a program says until it ends, or why that could not be had."""
    until = time.monotonic() + patience
    try:
        with _started(argv, env, cwd, stdin=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            said, ended = _collect(process, (process.stdout, process.stderr), until, most)
    except (OSError, ValueError) as error:
        return Heard(problem=f"cannot be started: {getattr(error, 'strerror', None) or error}")
    out, err = (data.decode(errors="replace") for data in said)
    if not ended and sum(map(len, said)) > most:
        return Heard(problem="does not stop printing", out=out, err=err)
    if not ended:
        return Heard(problem=f"did not answer within {patience:g} s", out=out, err=err)
    return Heard(code=process.returncode if process.returncode >= 0 else None, out=out, err=err)


class Talk:
    """A program that answers lines with lines."""

    def __init__(self, process: "subprocess.Popen[bytes]", until: float, most: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._until, self._left = until, most
        self._rest = b""

    def say(self, line: bytes) -> bool:
        """False if nobody listens any more."""
        try:
            self._in.write(line + b"\n")
            self._in.flush()
        except (OSError, ValueError):
            return False
        return True

    def line(self) -> bytes | None:
        """The next line; None if there is none in time."""
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
def talking(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    patience: float,
    most: int = _MOST,
) -> Generator[Talk]:
    """Talk with a program; it is gone at the end. Raises OSError where it cannot be started."""
    until = time.monotonic() + patience
    with _started(argv, env, cwd, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield Talk(process, until, most)


@contextmanager
def _started(
    argv: Sequence[str],
    env: Mapping[str, str] | None,
    cwd: Path | None,
    *,
    stdin: int,
    stderr: int = subprocess.PIPE,
) -> "Generator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(
        argv, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=env, cwd=cwd,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):  # what was to be written, to one who is gone
                if pipe is not None:
                    pipe.close()
        process.wait()


def _collect(
    process: "subprocess.Popen[bytes]", pipes: tuple[IO[bytes], IO[bytes]], until: float, most: int
) -> tuple[tuple[bytes, bytes], bool]:
    """What came from both pipes, and whether the program ended in time and measure."""
    said = (bytearray(), bytearray())
    with selectors.DefaultSelector() as ready:
        for pipe, data in zip(pipes, said, strict=True):
            ready.register(pipe, selectors.EVENT_READ, data)
        ended = False
        while sum(map(len, said)) <= most:
            left = until - time.monotonic()
            found = ready.select(max(0.0, min(left, _LOOK)))
            for key, _ in found:
                data = os.read(key.fd, _CHUNK)
                if data:
                    key.data.extend(data)
                else:
                    ready.unregister(key.fileobj)
            # Whoever else holds the pipes is not waited for.
            ended = (not found and process.poll() is not None) or not ready.get_map()
            if ended or left <= 0:
                break
    if ended and process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
        ended = process.returncode is not None
    return (bytes(said[0]), bytes(said[1])), ended
