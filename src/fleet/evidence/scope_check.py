"""Collects what the rules of scope need. Asks git; not for the loop's thread."""

import os

from fleet.errors import InvalidTask
from fleet.evidence import other_task_dirs, scope_rules
from fleet.git.run_baseline import base_now
from fleet.home import Home
from fleet.runs.run_directory import Run
from fleet.schemas import Base, Changes, Finding, Policy


def check_scope(
    run: Run, base: Base, changes: Changes, policy: Policy, cwd: str
) -> tuple[Finding, ...]:
    """The rules of scope that the run broke."""
    try:
        started = run.started()
    except InvalidTask:
        started = None
    home = Home(run.path.parents[3])
    others = other_task_dirs.compare(home, run, base.root, started.at if started else None)
    return scope_rules.scope_findings(
        base, base_now(base), changes, policy, os.path.realpath(cwd), others
    )
