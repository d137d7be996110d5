"""sddw's `.sddw/<feature>/design/tasks/task-<N>-<slug>.md`: one file a task. Pure."""

import re
from collections.abc import Mapping

from fleet.plan.neutral_plan import Plan, PlannedTask, SpecFile, SpecText
from fleet.plan.readers.box_tasks import checks_in, files_in, title_of
from fleet.plan.readers.markdown_boxes import Section, sections_of

NAME = re.compile(r"task-(\d+)(?:-([^/]*))?\.md")
_TITLE = re.compile(r"Task\s+\d+\s*[:.\u2013\u2014-]\s*", re.IGNORECASE)
_DEPENDS = re.compile(r"^[\s>*-]*\**Depends on:?\**:?\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"task[-\s]?(\d+)", re.IGNORECASE)
_BOX = re.compile(r"^\s*[-*+]\s+\[(.)\]", re.MULTILINE)


def read_sddw(spec: SpecText) -> Plan:
    """A task for each file; the whole text is what the agent is told."""
    requirements = spec.document("requirements.md")
    return Plan(
        title=spec.title,
        body=requirements.text if requirements else "",
        tasks=tuple(_task(file) for file in spec.files),
    )


def _task(file: SpecFile) -> PlannedTask:
    found = NAME.fullmatch(file.name.rpartition("/")[2])
    sections = {section.title.lower(): section for section in sections_of(file.text)}
    first = next(iter(sections_of(file.text)), None)
    title = _TITLE.sub("", first.title, count=1) if first else (found and found[2]) or ""
    done = _prose(sections, "done criteria")
    marks = _BOX.findall(done)
    return PlannedTask(
        key=f"task-{found[1]}" if found else "",
        title=title_of(title.replace("-", " ") if not first else title),
        body=file.text.strip(),
        after=_depends(file.text),
        files=files_in(_prose(sections, "files")),
        verify=checks_in(done),
        done=bool(marks) and all(mark in "xX" for mark in marks),
        place=f"{file.name}:{first.line if first else 1}",
    )


def _prose(sections: Mapping[str, Section], name: str) -> str:
    return sections[name].prose if name in sections else ""


def _depends(text: str) -> tuple[str, ...]:
    found = _DEPENDS.search(text)
    return tuple(f"task-{number}" for number in _NUMBER.findall(found[1])) if found else ()
