"""Runs the program of `notify.command`, bounded in time."""

from collections.abc import Sequence

from fleet.processes.bounded_call import CallFailed, call

_PATIENCE = 30.0


def run_command(argv: Sequence[str], message: bytes) -> str:
    """Give a program a message on its standard input; what went wrong, or nothing."""
    done = call(argv, timeout=_PATIENCE, stdin=message)
    if isinstance(done, CallFailed):
        return f"{argv[0]} {done.problem}"
    if done.code != 0:
        return f"{argv[0]} ended with code {done.code}: {done.err.strip()[-200:]}"
    return ""
