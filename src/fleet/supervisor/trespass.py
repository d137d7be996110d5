"""Looks at where a run went, for the rules of `scope`. Asks git; not for the loop's thread."""

import os

from fleet.errors import InvalidTask
from fleet.schemas import Base, Changes, Finding, Policy
from fleet.supervisor import scope, siblings
from fleet.supervisor.base import base_now
from fleet.taskdir import Home
from fleet.taskdir.rundir import Run


def trespasses_of(
    run: Run, base: Base, changes: Changes, policy: Policy, cwd: str
) -> tuple[Finding, ...]:
    """Where the run went that it had no business to be."""
    try:
        started = run.started()
    except InvalidTask:
        started = None
    home = Home(run.path.parents[3])
    others = siblings.compare(home, run, base.root, started.at if started else None)
    return scope.trespasses(base, base_now(base), changes, policy, os.path.realpath(cwd), others)
