"""Asks programs for their version: side by side, in a few seconds at most, and with no say in it.

It starts processes, as few modules may: each in a group of its own, which dies with the answer.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from msgspec import Struct

#: No CLI takes longer to say its version, unless it hangs.
PATIENCE = 5.0
_LONGEST = 200


class Answer(Struct, frozen=True):
    """What a program said: its version, or why there is none."""

    version: str = ""
    problem: str = ""


def versions(
    commands: Mapping[str, Sequence[str]], patience: float = PATIENCE
) -> dict[str, Answer]:
    """The answer of each command by its name."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        asked = {name: pool.submit(_ask, argv, patience) for name, argv in commands.items()}
        return {name: answer.result() for name, answer in asked.items()}


def _ask(argv: Sequence[str], patience: float) -> Answer:
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Answer(problem=f"cannot be started: {error.strerror}")
    with process:
        try:
            out, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            return Answer(problem=f"did not tell its version within {patience:g} s")
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    first = out.decode(errors="replace").strip().partition("\n")[0][:_LONGEST]
    if process.returncode:
        ending = f"ended with {process.returncode} when asked for its version"
        return Answer(problem=f"{ending}: {first}" if first else ending)
    return Answer(version=first)
