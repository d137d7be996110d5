"""OpenSpec's `openspec/changes/<change>/tasks.md`: numbered boxes below numbered headings. Pure.

The format has no mark for what may run together and asks for the order of dependency, so that each
task waits for the one before it.
"""

from msgspec.structs import replace

from fleet.plan.neutral_plan import Plan, SpecText
from fleet.plan.readers.box_tasks import Ordered, in_order, tasks_of
from fleet.plan.readers.markdown_boxes import boxes_of


def read_openspec(spec: SpecText) -> Plan:
    """A task for each box, one after the other."""
    file = spec.main
    tasks = tasks_of(boxes_of(file.text), file.name, context=lambda _: spec.to_read)
    groups = {task.parent for task in tasks}
    after = in_order([Ordered(key=task.key, stage=0) for task in tasks if task.key not in groups])
    proposal = spec.document("proposal.md")
    return Plan(
        title=spec.title,
        body=proposal.text if proposal else "",
        tasks=tuple(replace(task, after=after.get(task.key, ())) for task in tasks),
    )
