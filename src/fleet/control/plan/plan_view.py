"""What `fleet plan show` tells of a plan, as values; nothing is written."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from fleet.control import Control
from fleet.control.plan.apply import known_tasks
from fleet.control.plan.load_plan import LoadedPlan
from fleet.control.view.read_now import standings_of
from fleet.plan.plan_changes import PlanChanges, changes_of
from fleet.plan.plan_drafts import ACCEPTANCE, EPIC
from fleet.plan.plan_graph import claimed_twice, graph_of, groups_of
from fleet.schemas import Task
from fleet.schemas.task_state import TaskState


class TaskView(Struct, frozen=True, kw_only=True):
    """One task of a plan, and how the task stands against the queue."""

    key: str
    title: str
    #: new, changed, same, left, reopened; done (ticked), group.
    state: str
    id: str = ""
    status: str = ""
    #: The task's state, as every surface shows it; empty: there is no such task yet.
    standing: TaskState | Literal[""] = ""
    #: The wave that the task runs in, from 1 on; 0: the task does not run.
    wave: int = 0
    after: Sequence[str] = ()
    files: Sequence[str] = ()
    #: Commands that the plan proposes to verify the task with.
    verify: Sequence[str] = ()
    #: The spec calls the task optional: other tasks do not wait for it.
    optional: bool = False
    place: str = ""


class PlanView(Struct, frozen=True, kw_only=True):
    """A plan with the graph, and what applying the plan would change."""

    spec: str
    format: str
    cwd: str
    title: str
    epic: str
    #: The task that checks the whole, once there is one.
    acceptance: str
    tasks: Sequence[TaskView]
    waves: Sequence[Sequence[str]]
    longest: Sequence[str]
    widest: int
    #: Files that several tasks of one wave name.
    claimed_twice: Mapping[str, Sequence[str]]
    #: The project's verify commands, which every task has to pass.
    project_verify: Sequence[str]
    #: Tasks without a command of their own, where the project has none either.
    unchecked: Sequence[str]
    #: Commands for the whole.
    verify: Sequence[str]
    #: Files of the spec that git has not committed as they are.
    uncommitted: Sequence[str]
    changes: PlanChanges
    #: The ids of tasks that the plan no longer has, by their keys.
    gone: Mapping[str, str]


def plan_view(fleet: Control, loaded: LoadedPlan) -> PlanView:
    """Hold a plan against the queue."""
    plan, place = loaded.plan, loaded.place
    known = known_tasks(fleet, loaded)
    stands = standings_of(fleet, tuple(known.values()), datetime.now().astimezone())
    found = changes_of(loaded.drafts, known, loaded.done)
    graph = graph_of(plan)
    groups = groups_of(plan)
    wave = {key: number for number, keys in enumerate(graph.waves, start=1) for key in keys}
    states = _states(found)
    tasks = [
        TaskView(
            key=task.key,
            title=task.title,
            state="done" if task.key not in wave and task.key not in groups
            else "group" if task.key in groups else states.get(task.key, "new"),
            id=_id(known, task.key),
            status=known[task.key].status if task.key in known else "",
            standing=stands[known[task.key].id].state if task.key in known else "",
            wave=wave.get(task.key, 0),
            after=graph.waits.get(task.key, ()),
            files=task.files,
            verify=task.verify,
            optional=task.optional,
            place=task.place,
        )
        for task in plan.tasks
    ]  # fmt: skip
    checked = {task.key for task in plan.tasks if task.verify}
    return PlanView(
        spec=place.spec,
        format=loaded.format,
        cwd=place.cwd,
        title=plan.title,
        epic=_id(known, EPIC),
        acceptance=_id(known, ACCEPTANCE),
        tasks=tasks,
        waves=graph.waves,
        longest=graph.longest,
        widest=graph.widest,
        claimed_twice=claimed_twice(plan, graph),
        project_verify=place.verify,
        unchecked=[] if place.verify else [key for key in graph.waits if key not in checked],
        verify=plan.verify,
        uncommitted=loaded.uncommitted,
        changes=found,
        gone={key: known[key].id for key in (*found.gone, *found.gone_begun, *found.ticked)},
    )


def _id(known: Mapping[str, Task], key: str) -> str:
    return known[key].id if key in known else ""


def _states(found: PlanChanges) -> dict[str, str]:
    names = ("new", "changed", "same", "left", "reopened")
    return {key: name for name in names for key in getattr(found, name)}
