"""spec-kit's `tasks.md`: `- [ ] T012 [P] [US1] Do it in src/x.py (depends on T010)`. Pure.

Sections come one after the other. Inside of one a task waits for the one before it, and neighbours
that are marked [P] run together.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from fleet.plan.neutral_plan import Plan, PlannedTask, SpecText
from fleet.plan.readers.box_tasks import (
    Ordered,
    body_of,
    checks_in,
    files_in,
    in_order,
    named_dependencies,
    title_of,
)
from fleet.plan.readers.markdown_boxes import CheckBox, boxes_of, first_heading, unwrapped

#: `[P]`, `[US1]`, `[FR-005, FR-006]`.
_MARKS = r"(?:\[[^\]\s]{1,24}(?:,\s*[^\]\s]{1,24})*\]\s*)*"
TASK = re.compile(rf"(?:\*\*)?(T\d{{3,}}[a-z]?)(?:\*\*)?[:.]?\s+({_MARKS})(.*)", re.DOTALL)
_MARK = re.compile(r"[^\[\]\s,]+")


def read_spec_kit(spec: SpecText) -> Plan:
    """A task for each box; a box without an id is told of by the check of the plan."""
    file = spec.main
    tasks: list[PlannedTask] = []
    order: list[Ordered] = []
    for box in map(unwrapped, boxes_of(file.text)):
        task, marks = _task(box, file.name, spec.to_read)
        tasks.append(task)
        stage = tuple(section.line for section in box.sections)
        order.append(Ordered(key=task.key, stage=stage, parallel="P" in marks))
    after = in_order(order)
    return Plan(
        title=first_heading(file.text).removeprefix("Tasks:").strip() or spec.title,
        tasks=tuple(replace(task, after=_after(task, after[task.key])) for task in tasks),
    )


def _task(box: CheckBox, name: str, to_read: Sequence[str]) -> tuple[PlannedTask, Sequence[str]]:
    found = TASK.fullmatch(box.text)
    key, marks, text = (
        (found[1], _MARK.findall(found[2]), found[3]) if found else ("", [], box.text)
    )
    context = [*to_read, *(each.prose for each in box.sections if each.level > 1)]
    task = PlannedTask(
        key=key,
        title=title_of(text),
        body=body_of(box, text, name, context=context) if text else "",
        files=files_in(text),
        verify=checks_in(f"{text}\n{box.notes}"),
        labels=tuple(mark for mark in marks if mark != "P"),
        done=box.done,
        place=f"{name}:{box.line}",
    )
    return task, marks


def _after(task: PlannedTask, before: Sequence[str]) -> tuple[str, ...]:
    """What stands before a task, and what the task's own words name."""
    named = named_dependencies(task.body.partition("\n")[0])
    return tuple(dict.fromkeys((*before, *(key for key in named if key.startswith("T")))))
