"""Where the clone of a task begins whose work is to land: at the line of the branch.

So a task finds what it waited for, and one that is opened again after its work has landed begins
with what landed since.
"""

import time

from fleet.git import repository
from fleet.git.clone import clone_place
from fleet.git.clone.task_refs import task_refs
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.target import read_target
from fleet.git.refs import commit_of
from fleet.home import Home, clone_record, landing_json
from fleet.schemas.policy import LandRules

#: Seconds to find out where a branch stands.
_LIMIT = 30.0


def line_for_clone(home: Home, task_id: str, cwd: str, rules: LandRules) -> str:
    """The commit that the task's clone is to be made from; empty: the commit of the task's
    directory, or the task has a clone. Raises FleetError.
    """
    repo = repository.find(cwd)
    if repo is None or rules.mode == "off":
        return ""
    _forget_landed(home, task_id)
    branch = rules.into or ("" if rules.asks_branch else repository.checked_out_branch(repo))
    if not branch or clone_record.read(home, task_id) is not None:
        return ""
    land = LandRepository(home.path, repo, time.monotonic() + _LIMIT)
    return read_target(land, branch).line


def _forget_landed(home: Home, task_id: str) -> None:
    """Forget the clone of a task whose work has landed and whose clone is gone."""
    landing, record = landing_json.believed(home, task_id), clone_record.read(home, task_id)
    if landing is None or landing.state != "landed" or record is None:
        return
    refs = None if clone_place.is_there(home, task_id) else task_refs(task_id, record)
    if refs is None or refs.branch_now().commit:  # a branch that stayed holds work of the task
        return
    for ref in (refs.tip_ref, refs.base_ref):
        if commit := commit_of(refs.git, ref):
            refs.git.ask("update-ref", "--no-deref", "-d", ref, commit)
    clone_record.forget(home, task_id)
