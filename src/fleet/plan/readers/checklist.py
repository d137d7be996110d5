"""Plain check lists in Markdown. Pure.

Boxes are independent of each other unless their words name others: a list of things to do says
nothing of their order.
"""

from msgspec.structs import replace

from fleet.plan.neutral_plan import Plan, PlannedTask, SpecText
from fleet.plan.readers.box_tasks import named_dependencies, tasks_of
from fleet.plan.readers.markdown_boxes import boxes_of, first_heading


def read_checklist(spec: SpecText) -> Plan:
    """A task for each box; a box with boxes below is a group."""
    file = spec.main
    boxes = boxes_of(file.text)
    tasks = tasks_of(boxes, file.name)
    known = {task.key for task in tasks}
    tasks = [replace(task, after=_named(task, known)) for task in tasks]
    return Plan(title=first_heading(file.text) or spec.title, tasks=tuple(tasks))


def _named(task: PlannedTask, known: set[str]) -> tuple[str, ...]:
    """The keys that the first line of a task names. In prose, `after 2 days` is no key: only known
    ones.
    """
    named = named_dependencies(task.body.partition("\n")[0])
    return tuple(key for key in named if key in known and key != task.key)
