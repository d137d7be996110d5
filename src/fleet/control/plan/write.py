"""`fleet plan write`: a task whose agent writes a plan, and what a person says of the plan."""

from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from fleet.bd.actor import owner
from fleet.control import Control, refuse_agents
from fleet.control.acts.create import NewTasks, create_tasks
from fleet.control.hosts.other_hosts import bring_if_possible
from fleet.control.plan.apply import WrittenPlan, apply, known_tasks
from fleet.control.plan.load_plan import LoadedPlan, loaded, project_of
from fleet.control.task_directory import checked_directory, plain_path
from fleet.control.tasks.questions import writes_plan
from fleet.control.tasks.retry import check_reopenable, way_on
from fleet.control.tasks.tell import tell
from fleet.errors import BadInput, Refused
from fleet.home.task_json import settings_of
from fleet.plan.find_spec import read_proposed_plan, read_spec_file
from fleet.plan.neutral_plan import FORMAT
from fleet.plan.plan_drafts import EPIC
from fleet.plan.readers.markdown_boxes import first_heading
from fleet.queue.protocol import Draft
from fleet.schemas import Settings, Task, settings_metadata
from fleet.schemas.policy import PLAN_FILE

_TEMPLATE = Path(__file__).parents[2] / "templates/PLAN.md"
_GOAL = "## The goal\n\n"
_LONGEST_TITLE = 120


def write_goal(
    fleet: Control,
    path: str,
    *,
    cwd: str | None = None,
    coder: str | None = None,
    model: str | None = None,
) -> NewTasks:
    """Make a task that ends in a plan for the goal in a file. Raises BadInput."""
    full = plain_path(path)
    base = checked_directory(cwd) if cwd else project_of(full)
    goal = read_spec_file(full, Path(base)).text.strip()
    if not goal:
        raise BadInput(f"{path} is empty", hint="Write down what is to be reached.")
    first = first_heading(goal) or goal.splitlines()[0]
    text = _TEMPLATE.read_text(encoding="utf-8").format(
        plan_file=f"{PLAN_FILE} in your artifacts directory",
        limit=fleet.config.plan_limit,
        goal=goal,
    )

    def add(settings: Settings) -> tuple[list[Task], None]:
        draft = Draft(
            title=f"Plan: {first.strip()}"[:_LONGEST_TITLE],
            description=text,
            labels=("plan",),
            created_by=fleet.by,
            owner=owner(fleet.env),
            metadata=settings_metadata(settings),
        )
        return [fleet.queue.add(draft)], None

    # No verify command of the project says anything about a plan.
    flags: dict[str, tuple[str, ...]] = {"cwd": (base,), "expect": ("plan",), "verify": ()}
    flags |= {"coder": (coder,)} if coder is not None else {}
    flags |= {"model": (model,)} if model is not None else {}
    return create_tasks(fleet, flags, add)[0]


def load_proposed(fleet: Control, task: Task) -> LoadedPlan:
    """The plan that a task's agent wrote, with the tasks that would be made. Raises Refused,
    BadInput.
    """
    if not writes_plan(fleet, task):
        raise Refused(f"{task.id} is not to write a plan", hint="Name a spec, or such a task.")
    bring_if_possible(fleet, task.id)
    plan = read_proposed_plan(fleet.home.task(task.id), limit=fleet.config.plan_limit)
    goal = task.description.partition(_GOAL)[2]
    body = f"{plan.body.strip()}\n\n## The goal as it was given\n\n{goal}".strip() if goal else ""
    cwd = settings_of(fleet.home, task).cwd or task.cwd or ""
    return loaded(
        fleet,
        structs.replace(plan, body=body or plan.body),
        spec=f"{task.id}/{PLAN_FILE}",
        cwd=cwd,
        format_=FORMAT,
        is_file=False,
    )


def approve(fleet: Control, task: Task, plan: LoadedPlan) -> WrittenPlan:
    """Make the tasks of a plan that an agent wrote, then close the agent's task.

    Given again after it was cut off, it completes what is missing.
    """
    check_not_approved(fleet, task, plan)
    _check_waits(fleet, task, "approve a plan")
    written = apply(fleet, plan, datetime.now(UTC))
    reason = f"approved: {len(plan.plan.tasks)} tasks below {written.ids[EPIC]}"
    fleet.queue.close_task(task, by=fleet.by, reason=reason)
    return written


def check_not_approved(fleet: Control, task: Task, plan: LoadedPlan) -> None:
    """Raise Refused, with the epic that was made, for a plan that a person approved before."""
    epic = known_tasks(fleet, plan).get(EPIC) if task.status == "closed" else None
    if epic is not None:
        raise Refused(
            f"the plan of {task.id} was approved before: its tasks are below {epic.id}",
            hint=f"See them: fleet bd children {epic.id}",
        )


def revise(fleet: Control, task: Task, text: str) -> Task:
    """Send a plan back to the session that wrote it, with what is to be changed."""
    if not text.strip():
        raise BadInput("nothing is to be changed", hint='Say what: fleet plan revise ID "…"')
    _check_waits(fleet, task, "revise a plan")
    words = f"Change the plan in {PLAN_FILE}, and close the task again:\n\n{text.strip()}"
    tell(fleet, task, words, now=False, review=True)
    first = text.strip().splitlines()[0][:500]
    return fleet.queue.reopen_task(task, by=fleet.by, note=f"TO BE REVISED: {first}")


def cancel(fleet: Control, task: Task) -> Task:
    """Close the task of a plan that is not wanted; nothing is made of the plan."""
    _check_waits(fleet, task, "cancel a plan")
    return fleet.queue.close_task(task, by=fleet.by, reason="the plan was cancelled")


def _check_waits(fleet: Control, task: Task, what: str) -> None:
    refuse_agents(fleet.env, what)
    if not writes_plan(fleet, task):
        raise Refused(f"{task.id} is not to write a plan", hint="See: fleet questions")
    check_reopenable(fleet, task)
    if task.status != "blocked":
        raise Refused(f"the plan of {task.id} is not ready: it is {task.status}", hint=way_on(task))
