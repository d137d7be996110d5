"""Plain check lists in Markdown. Pure.

Boxes are independent of each other unless their words name others: a list of things to do says
nothing of their order.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from fleet.plan.neutral_plan import Plan, PlannedTask, SpecText
from fleet.plan.readers.box_tasks import (
    body_of,
    checks_in,
    files_in,
    named_dependencies,
    named_key,
    split_key,
    title_of,
    with_groups,
)
from fleet.plan.readers.markdown_boxes import CheckBox, boxes_of, first_heading

#: What one format knows more of a box than every list does.
BoxContext = Callable[[CheckBox], Sequence[str]]


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


def tasks_of(
    boxes: Sequence[CheckBox], name: str, *, context: BoxContext = lambda _: ()
) -> list[PlannedTask]:
    """The tasks of boxes, in groups, without their order."""
    keys: list[str] = []
    texts: list[str] = []
    numbered = {key for box in boxes if (key := split_key(box.text)[0])}
    for box in boxes:
        key, rest = split_key(box.text)
        texts.append(rest)
        keys.append(key or named_key(rest, {*keys, *numbered}))
    tasks = [
        PlannedTask(
            key=key,
            title=title_of(text),
            body=body_of(box, text, name, context=context(box)) if text else "",
            files=files_in(f"{text}\n{box.notes}"),
            verify=checks_in(f"{text}\n{box.notes}"),
            labels=("optional",) if box.optional else (),
            priority=4 if box.optional else 2,
            done=box.done,
            optional=box.optional,
            place=f"{name}:{box.line}",
        )
        for box, key, text in zip(boxes, keys, texts, strict=True)
    ]
    parents = with_groups(tasks, boxes)
    return [replace(task, parent=parents.get(task.key, "")) for task in tasks]
