"""What a plan must have before any part gets into the queue. Pure."""

from collections.abc import Callable, Iterator, Sequence

from fleet.errors import BadInput
from fleet.plan.neutral_plan import Plan, PlannedTask, refuse
from fleet.plan.plan_graph import circle_in, groups_of, waits_of
from fleet.schemas.policy import check_expectation, check_place

LONGEST_KEY = 80
LONGEST_TITLE = 500
_NO_TASKS = "A task is a box (- [ ] 1.1 Do this), and in fleet.plan/1 a table ([[task]])."


def check_plan(plan: Plan, *, limit: int, name: str) -> Plan:
    """The plan, if it can be applied. Raises BadInput with every problem and its place."""
    if not plan.tasks:
        raise BadInput(f"{name} holds no tasks", hint=_NO_TASKS)
    problems = [*_of_tasks(plan.tasks), *_of_links(plan)]
    if not problems:
        problems = [*_of_circles(plan)]
    refuse(problems, hint="Mend the file; nothing was made.")
    left = sum(not task.done for task in plan.tasks)
    if left > limit:
        raise BadInput(
            f"{name} holds {left} tasks, and a plan may have {limit}",
            hint=f"Split it, or allow it: fleet config set plan_limit={left}",
        )
    return plan


def _of_tasks(tasks: Sequence[PlannedTask]) -> Iterator[str]:
    """What is wrong with each task alone, and keys that stand twice."""
    first: dict[str, str] = {}
    for task in tasks:
        at = f"{task.place}: " if task.place else ""
        name = f"{task.key}: " if task.key else ""
        yield from (f"{at}{name}{problem}" for problem in _of_task(task))
        if task.key and task.key in first:
            yield f"{at}the key {task.key!r} stands twice: first at {first[task.key]}"
        first.setdefault(task.key, task.place)


def _of_task(task: PlannedTask) -> Iterator[str]:
    if not task.key:
        yield "the task has no key"
    elif len(task.key) > LONGEST_KEY or not _is_key(task.key):
        yield "a key is one word without '#' or '@' at its beginning, of at most 80 letters"
    if not task.title.strip():
        yield "the task has no title"
    elif len(task.title) > LONGEST_TITLE:
        yield f"the title has {len(task.title)} letters, and {LONGEST_TITLE} are the most"
    if not task.body.strip():
        yield "the task has no body: an agent would not know what to do"
    if task.priority not in range(5):
        yield f"the priority must be between 0 and 4, and not {task.priority}"
    if (task.coder is None) != (task.model is None):
        yield "a coder and its model go together: name both or none"
    yield from _wrong(check_expectation, (task.expect,) if task.expect else ())
    yield from _wrong(lambda text: check_place(text, from_top=True), task.scope or ())
    yield from _wrong(lambda text: check_place(text, from_top=False), task.pins or ())
    if any(not line.strip() or "\n" in line for line in task.verify):
        yield "a verify command is one line"


def _is_key(key: str) -> bool:
    return key.isprintable() and not any(each.isspace() for each in key) and key[0] not in "#@"


def _wrong(check: Callable[[str], str], texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        try:
            check(text)
        except BadInput as error:
            yield error.message


def _of_links(plan: Plan) -> Iterator[str]:
    """Names of tasks that are not in the plan."""
    known = {task.key for task in plan.tasks}
    for task in plan.tasks:
        for key in task.after:
            if key == task.key:
                yield f"{task.place}: {task.key} waits for itself"
            elif key not in known:
                yield f"{task.place}: {task.key} waits for {key!r}, which is not in the plan"
        if task.parent and task.parent not in known:
            yield f"{task.place}: {task.key} belongs to {task.parent!r}, which is not in the plan"


def _of_circles(plan: Plan) -> Iterator[str]:
    """Groups that hold each other, tasks that wait for each other."""
    places = {task.key: task.place for task in plan.tasks}
    families = {task.key: [task.parent] for task in plan.tasks if task.parent}
    if circle := circle_in(families):
        yield f"{places[circle[0]]}: groups hold each other: {' → '.join(circle)}"
        return
    plain = {task.key: [*task.after] for task in plan.tasks if task.key not in groups_of(plan)}
    if circle := circle_in(plain) or circle_in(waits_of(plan)):
        yield f"{places[circle[0]]}: these tasks wait for each other: {' → '.join(circle)}"
