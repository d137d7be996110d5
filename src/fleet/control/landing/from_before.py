"""A closed task whose branch was never taken over waits to land again."""

import time
from datetime import UTC, datetime

from fleet.control import Control
from fleet.control.landing.only_people import refuse_agents
from fleet.control.landing.project_git import ProjectGit
from fleet.control.landing.waiting_list import land_rules_of
from fleet.errors import Refused
from fleet.git import repository
from fleet.git.refs import BRANCHES
from fleet.git.repository import checked_out_branch
from fleet.home import clone_record, landing_json
from fleet.home.clone_record import CloneRecord, branch_of, ref_word
from fleet.home.landing_json import Landing
from fleet.runs.run_directory import latest_run
from fleet.schemas import Task
from fleet.schemas.task import WAITS_TO_LAND

_LIMIT = 60.0


def landing_from_before(fleet: Control, task_id: str) -> Landing | None:
    """The landing that the branch of a closed task would have; nothing is written. None: the task
    is not such a one. Raises Refused if its branch holds nothing to land.
    """
    task, record = fleet.get(task_id), clone_record.read(fleet.home, task_id)
    known = landing_json.read(fleet.home, task_id)
    if task.status != "closed" or record is None:
        return None
    if known is not None and known.state == "landed":
        return None
    refuse_agents(fleet.env, "land work")
    project = ProjectGit(fleet.home, record.repository, time.monotonic() + _LIMIT)
    tip = project.unmerged({task_id: f"{BRANCHES}{ref_word(task_id)}"}).get(task_id, "")
    run = latest_run(fleet.home.task(task_id))
    if not tip or run is None:
        raise Refused(
            f"{task_id} is closed, and {branch_of(task_id)} holds nothing that no branch has",
            hint="What is not landed: fleet land",
        )
    return _landing(fleet, task, record, project, tip, run.number)


def land_old_branch(fleet: Control, task_id: str, landing: Landing) -> None:
    """Have a closed task wait to land. The train verifies the commit anew."""
    # The record first: a task that waits without one would wait for ever.
    landing_json.write(fleet.home, task_id, landing)
    note = f"{WAITS_TO_LAND} on {landing.into}: fleet land"
    fleet.queue.reopen_task(fleet.get(task_id), by=fleet.by, note=note, blocked=True)


def _landing(
    fleet: Control, task: Task, record: CloneRecord, project: ProjectGit, tip: str, run: int
) -> Landing:
    rules = land_rules_of(fleet, task.id)
    repo = repository.find(record.repository)
    into = rules.into or record.branch or (checked_out_branch(repo) if repo else "")
    return Landing(
        state="waiting",
        repository=record.repository,
        into=into,
        run=run,
        base=record.commit,
        tree=project.tree_of(tip),
        commit=tip,
        title=task.title,
        reason=task.close_reason or "done",
        how=rules.how,
        to=rules.to,
        at=datetime.now(UTC),
    )
