"""Starts `bd`, and is the only module here that does: captured with every bound, or attached.

A captured call has a deadline, its own process group that dies with it, no terminal to ask
questions on, and a limit on what it may print.
"""

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from fleet.errors import BadInput, FleetError, QueueBusy, QueueUnavailable

#: More than any queue we list prints. What goes beyond is a fault of bd, not an answer.
LIMIT = 64 * 1024 * 1024
#: Of the error stream the end is kept: that is where bd says why it failed.
ERROR_TAIL = 64 * 1024

_CHUNK = 256 * 1024
#: How often to look whether bd ended while something it started still holds its output.
_LOOK = 0.05


#: A descriptor or file for an attached call; None is our own.
Stream = int | IO[Any] | None
DEVNULL = subprocess.DEVNULL


class Ended(Struct, frozen=True, kw_only=True):
    """A call that ran to its end, well or not."""

    code: int
    out: bytes
    err: str


def capture(
    argv: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str],
    timeout: float,
    limit: int = LIMIT,
    stdin: Stream = DEVNULL,
) -> Ended:
    """Run to the end and keep what it printed; whatever goes wrong, nothing of it stays behind."""
    with _started(argv, cwd, env, stdin) as process:
        try:
            return _follow(process, argv, time.monotonic() + timeout, timeout, limit)
        except BaseException:
            _kill_group(process)
            raise


def attach(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
) -> int:
    """Run on our own streams, or those given, and answer with a shell's exit code.

    Ctrl-C reaches bd from the terminal, so we only have to outlive it; SIGTERM we pass on.
    """
    kills: list[int] = []
    # Handlers, not SIG_IGN: bd would inherit that. And before the start: a signal may come at once.
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda _number, _frame: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda number, _frame: kills.append(number)),
    }
    try:
        with subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr
        ) as process:
            signal.signal(signal.SIGTERM, lambda number, _frame: process.send_signal(number))
            if kills:
                process.terminate()
            code = process.wait()
    except OSError as error:
        raise _cannot_start(argv[0], cwd, error) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


@contextlib.contextmanager
def _started(
    argv: Sequence[str], cwd: Path | None, env: Mapping[str, str], stdin: Stream
) -> Generator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        raise _cannot_start(argv[0], cwd, error) from error
    try:
        yield process
    finally:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _follow(
    process: subprocess.Popen[bytes],
    argv: Sequence[str],
    deadline: float,
    timeout: float,
    limit: int,
) -> Ended:
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as streams:
        for stream, buffer in ((process.stdout, out), (process.stderr, err)):
            os.set_blocking(stream.fileno(), False)
            streams.register(stream, selectors.EVENT_READ, buffer)
        while streams.get_map():
            ended = process.poll() is not None
            left = deadline - time.monotonic()
            if left <= 0:
                raise _too_slow(argv, timeout)
            heard = streams.select(0 if ended else min(left, _LOOK))
            for key, _ in heard:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    streams.unregister(key.fileobj)
                key.data.extend(chunk)
            if len(out) > limit:
                raise QueueUnavailable(
                    f"{_name(argv)} printed more than {limit // 1024 // 1024} MiB and was stopped"
                )
            del err[:-ERROR_TAIL]
            # A server that bd started may hold the streams open for ever; bd itself is done.
            if ended and not heard:
                break
    try:
        code = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _too_slow(argv, timeout) from None
    return Ended(code=code, out=bytes(out), err=err.decode(errors="replace"))


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _name(argv: Sequence[str]) -> str:
    """The call without what people wrote: `bd create`."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    return " ".join([Path(argv[0]).name, *words[:1]])


def _too_slow(argv: Sequence[str], timeout: float) -> QueueBusy:
    return QueueBusy(
        f"{_name(argv)} did not answer within {timeout:g} s and was stopped",
        hint="Another bd may hold the database, or its server hangs. fleet tries again by itself.",
    )


def _cannot_start(program: str, cwd: Path | None, error: OSError | ValueError) -> FleetError:
    if isinstance(error, ValueError):  # what execve cannot carry
        return BadInput(f"the text cannot be passed to {program}: {error}")
    if error.errno == errno.E2BIG:
        return BadInput(f"the text is too long to be passed to {program}")
    if cwd is not None and not cwd.is_dir():
        return QueueUnavailable(
            f"the fleet home {cwd} is not there", hint="Make it with `fleet init`."
        )
    if isinstance(error, FileNotFoundError):
        return QueueUnavailable(
            f"{program} is not there to be started: {error.strerror}",
            hint="Install beads (bd), or choose another queue: fleet init --queue embedded",
        )
    return QueueUnavailable(f"{program} cannot be started: {error.strerror or error}")
