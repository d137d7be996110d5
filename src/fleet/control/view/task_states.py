"""The states of many tasks, for lists that show the state and not the reason.

An open task that something holds is waiting, whatever that is. So where the whole home is held, the
open tasks are not looked at one by one. Without a supervisor they are: some of them are ready.
"""

from collections.abc import Sequence
from datetime import datetime

from fleet.control import Control
from fleet.control.view.home_moment import home_moment, supervision
from fleet.extend import home_gates, why_none
from fleet.home import landing_json
from fleet.schemas import Task
from fleet.schemas.task_state import TaskFacts, TaskState, state_of


def states_of(fleet: Control, tasks: Sequence[Task], now: datetime) -> dict[str, TaskState]:
    """The state of each task, as every surface shows it."""
    found = _held_with_home(fleet, tasks, now)
    others = [task for task in tasks if task.id not in found]
    if others:
        from fleet.control.view.read_now import standings_of  # loads what rows are made of

        known = standings_of(fleet, others, now)
        found |= {task_id: standing.state for task_id, standing in known.items()}
    return found


def _held_with_home(fleet: Control, tasks: Sequence[Task], now: datetime) -> dict[str, TaskState]:
    """The open tasks without accepted work, if the whole home is held. On a shared queue other
    hosts may start tasks, and tell of work that they land.
    """
    if fleet.is_shared:
        return {}
    held = why_none(home_gates(), home_moment(fleet, now, *supervision(fleet)))
    if held is None or held.ready:
        return {}
    landing = frozenset(landing_json.unlanded(fleet.home))
    return {
        task.id: state_of(TaskFacts(id=task.id, status=task.status, hindrance=held)).state
        for task in tasks
        if task.status in ("open", "deferred") and task.id not in landing
    }
