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
_LINES = 50


class Answer(Struct, frozen=True):
    """What a program said: its version, or why there is none."""

    version: str = ""
    problem: str = ""
    #: What it printed, line by line.
    lines: tuple[str, ...] = ()


def versions(
    commands: Mapping[str, Sequence[str]], patience: float = PATIENCE
) -> dict[str, Answer]:
    """The answer of each command by its name."""
    return asked({name: (argv, os.environ) for name, argv in commands.items()}, patience)


def asked(
    commands: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], patience: float = PATIENCE
) -> dict[str, Answer]:
    """The answer of each command, run in its own environment."""
    with ThreadPoolExecutor(max_workers=8) as pool:
        found = {name: pool.submit(_ask, *each, patience) for name, each in commands.items()}
        return {name: answer.result() for name, answer in found.items()}


def _ask(argv: Sequence[str], env: Mapping[str, str], patience: float) -> Answer:
    try:
        process = subprocess.Popen(
            argv,
            env=env,
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
    said = [line for line in out.decode(errors="replace").splitlines() if line.strip()]
    first = next((line for line in said if not line.startswith("WARNING")), "")[:_LONGEST]
    if process.returncode:
        ending = f"ended with {process.returncode} when asked for its version"
        problem = f"{ending}: {first}" if first else ending
        return Answer(problem=problem, lines=tuple(said[:_LINES]))
    return Answer(version=first, lines=tuple(said[:_LINES]))
