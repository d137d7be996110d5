"""Whether a task may start on the commit that its work begins at, by its verify commands.

Asks git and the records of commands that were tried: beside the loop.
"""

import time
from datetime import UTC, datetime

from fleet.evidence.base_check import BaseCase, base_case, known_trials, obstacle
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.refs import commit_of
from fleet.git.repository import Repository
from fleet.home import Home, base_wait, clone_record
from fleet.home.base_wait import BaseWait
from fleet.runs.run_directory import latest_run
from fleet.schemas import Policy

#: Seconds to look a commit up.
_LIMIT = 30.0


def base_gate(
    home: Home, task_id: str, policy: Policy, *, cwd: str, commit: str = "", branch: str = ""
) -> BaseCase | BaseWait | None:
    """None: the task may start. A case: its commands have to be tried first. Raises FleetError.

    `commit` is what a first clone is made from; empty: the clone that there is, or the commit that
    is checked out in `cwd`. Nothing is tried for work in the directory itself.
    """
    if not policy.verify or policy.work_in == "directory":
        return None
    record = clone_record.read(home, task_id)
    repo = repository.find(record.repository if record is not None else cwd)
    if repo is None:
        return None
    begins_at = record.commit if record is not None else _commit(repo, commit)
    if not begins_at:
        return None
    name = branch or (record.branch if record is not None else "")
    name = name or ("" if commit else repository.checked_out_branch(repo))
    case = base_case(home, repo, begins_at, policy, cwd=cwd, name=name, own=policy.verify_is_own)
    trials = known_trials(case)
    if trials is None:
        return case
    wait = obstacle(case, trials, datetime.now(UTC))
    if wait is None or (wait.kind == "fails" and _may_fail(home, task_id, case)):
        if base_wait.waits(home, task_id) is not None:
            base_wait.forget(home, task_id)
        return None
    return wait


def _may_fail(home: Home, task_id: str, case: BaseCase) -> bool:
    """The project's commands need not pass on the base: a person said so, or the task has work
    there already, whose base stays.
    """
    if base_wait.is_accepted(home, task_id, case.key):
        return True
    worked = latest_run(home.task(task_id)) is not None
    return worked or clone_record.read(home, task_id) is not None


def _commit(repo: Repository, wanted: str) -> str:
    """The commit that a first clone is made from; empty: there is none. Raises GitFailed."""
    return commit_of(Git(repo, time.monotonic() + _LIMIT), f"{wanted or 'HEAD'}^{{commit}}")
