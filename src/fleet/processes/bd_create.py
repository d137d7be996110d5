"""Runs `fleet bd create` in a directory, like a person at a terminal: for the tasks
of schedules.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fleet.errors import QueueError
from fleet.processes.bounded_call import CallFailed, call
from fleet.processes.own_program import OWN_PROGRAM

#: Seconds that a task may take to be created.
_PATIENCE = 120.0


class CreateEnd(Struct, frozen=True, kw_only=True):
    """How a call of `fleet bd create` ended."""

    #: What kept the task from being created; empty: it was created.
    problem: str = ""
    #: The queue did not answer: the same call may go well later.
    passing: bool = False


def bd_create(home: Path, cwd: str, args: Sequence[str], *, by: str = "") -> CreateEnd:
    """Create a task in the queue of `home`, made in the directory `cwd`, in the name of `by`."""
    argv = (*OWN_PROGRAM, "bd", "create", *args)
    env = {**os.environ, "FLEET_HOME": str(home), **({"BEADS_ACTOR": by} if by else {})}
    done = call(argv, timeout=_PATIENCE, env=env, cwd=cwd)
    if isinstance(done, CallFailed):
        gone = not Path(cwd).is_dir()
        problem = f"the directory {cwd} is not there" if gone else f"fleet bd create {done.problem}"
        return CreateEnd(problem=problem, passing=not gone)
    if done.code == 0:
        return CreateEnd()
    problem = " ".join(done.err.split()) or f"fleet bd create ended with code {done.code}"
    return CreateEnd(problem=problem, passing=done.code == QueueError.exit_code)
