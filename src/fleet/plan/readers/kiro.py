"""Kiro's and cc-sdd's `.kiro/specs/<feature>/tasks.md`. Pure.

`2.1` belongs to `2`; tasks come one after the other, and neighbours with cc-sdd's mark (P) run
together; `[ ]*` is optional. `_Requirements: 1.2_` brings the words of requirements.md with it, and
`_Depends: 1.1_` replaces the order.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from fleet.plan.neutral_plan import Plan, PlannedTask, SpecFile, SpecText
from fleet.plan.readers.box_tasks import Ordered, in_order, tasks_of
from fleet.plan.readers.markdown_boxes import CheckBox, boxes_of, sections_of

_PARALLEL = re.compile(r"\s*\(P\)\s*")
_DEPENDS = re.compile(r"_Depends(?: on)?:\s*([^_\n]+?)\s*_", re.IGNORECASE)
_REQUIREMENTS = re.compile(r"(?:_Requirements?|\bValidates: Requirements?):?\s*([\d., \u2013-]+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_CRITERION = re.compile(r"^\s*(\d+(?:\.\d+)?)[.)]?\s+(.*(?:\n(?!\s*\d+[.)]\s).+)*)", re.MULTILINE)


def read_kiro(spec: SpecText) -> Plan:
    """A task for each box; a box with numbers below is a group."""
    file = spec.main
    requirements = criteria(spec.document("requirements.md"))
    boxes = boxes_of(file.text)

    def context(box: CheckBox) -> Sequence[str]:
        named = [
            n for found in _REQUIREMENTS.finditer(box.notes) for n in _NUMBER.findall(found[1])
        ]
        words = [
            f"- {number}: {requirements[number]}" for number in named if number in requirements
        ]
        listed = ["Requirements:\n" + "\n".join(dict.fromkeys(words))] if words else []
        return [*listed, *spec.to_read]

    tasks = tasks_of(boxes, file.name, context=context)
    groups = {task.parent for task in tasks}
    work = [(t, box) for t, box in zip(tasks, boxes, strict=True) if t.key not in groups]
    after = in_order(
        [
            Ordered(
                key=task.key,
                stage=(task.key.rpartition(".")[0], box.sections),
                parallel=bool(_PARALLEL.search(box.text)),
                optional=task.optional,
            )
            for task, box in work
        ]
    )
    named = {task.key: _named(box) for task, box in work}
    return Plan(
        title=spec.title,
        tasks=tuple(
            _placed(task, named.get(task.key) or after.get(task.key, ())) for task in tasks
        ),
    )


def _placed(task: PlannedTask, after: Sequence[str]) -> PlannedTask:
    title = _PARALLEL.sub(" ", task.title).strip()
    return replace(task, title=title, after=tuple(after))


def _named(box: CheckBox) -> tuple[str, ...]:
    """What `_Depends:_` names; `none` names nothing."""
    keys = [key for found in _DEPENDS.finditer(box.notes) for key in _NUMBER.findall(found[1])]
    return tuple(dict.fromkeys(keys))


def criteria(file: SpecFile | None) -> dict[str, str]:
    """The acceptance criteria of requirements.md by their numbers: `1.2` is the second of 1."""
    found: dict[str, str] = {}
    number = ""
    for section in sections_of(file.text) if file else ():
        named = re.match(r"(?:Requirement|R)\s*(\d+)", section.title)
        number = named[1] if named else number
        if not number or "acceptance" not in section.title.lower():
            continue
        for criterion in _CRITERION.finditer(section.prose):
            own = criterion[1] if "." in criterion[1] else f"{number}.{criterion[1]}"
            found[own] = " ".join(criterion[2].split())
    return found
