"""Starts `bd`: captured with every bound, or attached to the streams of this process."""

import errno
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fleet.errors import BadInput, FleetError, QueueBusy, QueueUnavailable
from fleet.processes.bounded_call import DEVNULL, Exited, Stream, call

#: More than any queue we list prints. What goes beyond is a fault of bd, not an answer.
LIMIT = 64 * 1024 * 1024
#: Seconds that a bd has to end by itself after it was told to.
_TO_END = 2.0


def capture(
    argv: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str],
    timeout: float,
    limit: int = LIMIT,
    stdin: Stream = DEVNULL,
) -> Exited:
    """Run bd to the end and keep the output. A server that bd started stays alive."""
    result = call(
        argv, cwd=cwd, env=env, timeout=timeout, limit=limit, stdin=stdin, leave_children=True
    )
    if isinstance(result, Exited):
        return result
    if result.fault == "timeout":
        raise QueueBusy(
            f"{_name(argv)} {result.problem} and was stopped",
            hint="Another bd may hold the database, or its server hangs. "
            "fleet tries again by itself.",
        )
    if result.error is not None:
        raise _cannot_start(argv[0], cwd, result.error)
    raise QueueUnavailable(
        f"{_name(argv)} printed more than {limit // 1024 // 1024} MiB and was stopped"
    )


def attach(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    timeout: float | None = None,
) -> int:
    """Run bd on the streams of this process, or those given; returns a shell's exit code.

    Ctrl-C reaches bd from the terminal, so this process only has to outlive bd; SIGTERM is passed
    on. A bd that takes longer than `timeout` is stopped, and QueueBusy raised.
    """
    kills: list[int] = []
    # Handlers and not SIG_IGN, which bd would inherit; set before the start, since a signal may
    # come at once.
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
            code = _waited(process, timeout)
    except OSError as error:
        raise _cannot_start(argv[0], cwd, error) from error
    except subprocess.TimeoutExpired:
        raise QueueBusy(
            f"{_name(argv)} did not end within {timeout:g} s and was stopped",
            hint="Another bd may hold the database, or its server hangs. To wait for longer:"
            " fleet config set bd_timeout_s=…",
        ) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _waited(process: "subprocess.Popen[bytes]", timeout: float | None) -> int:
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TO_END)
        process.kill()
        raise


def _name(argv: Sequence[str]) -> str:
    """Program and verb without texts that people wrote: `bd create`."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    return " ".join([Path(argv[0]).name, *words[:1]])


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
