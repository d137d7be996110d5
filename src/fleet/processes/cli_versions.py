"""Asks programs for their version: in parallel, in a few seconds at most, in an empty directory."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory

from msgspec import Struct

from fleet.processes.bounded_call import CallFailed, call

#: No CLI takes longer to say its version, unless it hangs.
PATIENCE = 5.0
_LONGEST = 200
_LINES = 50
_MUCH = 1 << 16


class VersionAnswer(Struct, frozen=True):
    """A program's version, or why there is none."""

    version: str = ""
    problem: str = ""
    #: What the program printed, line by line.
    lines: tuple[str, ...] = ()


def asked(
    commands: Mapping[str, tuple[Sequence[str], Mapping[str, str]]], patience: float = PATIENCE
) -> dict[str, VersionAnswer]:
    """The answer of each command by name, run in the given environment.

    What a program leaves in its directory is gone with the answer.
    """
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as empty,
        ThreadPoolExecutor(max_workers=8) as pool,
    ):
        found = {name: pool.submit(_ask, *each, empty, patience) for name, each in commands.items()}
        return {name: answer.result() for name, answer in found.items()}


def _ask(argv: Sequence[str], env: Mapping[str, str], place: str, patience: float) -> VersionAnswer:
    result = call(argv, env=env, cwd=place, timeout=patience, limit=_MUCH)
    if isinstance(result, CallFailed):
        late = f"did not tell its version within {patience:g} s"
        return VersionAnswer(problem=late if result.fault == "timeout" else result.problem)
    lines = [line for line in f"{result.text}\n{result.err}".splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith("WARNING")), "")[:_LONGEST]
    if result.code != 0:
        ending = f"ended with {result.code} when asked for its version"
        problem = f"{ending}: {first}" if first else ending
        return VersionAnswer(problem=problem, lines=tuple(lines[:_LINES]))
    return VersionAnswer(version=first, lines=tuple(lines[:_LINES]))
