"""Check boxes in Markdown, each with what stands below and the sections around. Pure.

Boxes in code, in comments and in quotations are examples, and no tasks.
"""

import re
from collections.abc import Iterator
from textwrap import dedent

from msgspec import Struct, field, structs

#: `- [ ] text`, `* [x] text`, `1. [ ] text`; the star is Kiro's mark for optional tasks.
_BOX = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+\[([^\]\n]?)\](\*?)(?:\s+(.*))?$")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_RULE = re.compile(r"^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

#: Marks of a box whose task is done.
_DONE = frozenset("xX✓✔")


class Section(Struct, frozen=True, kw_only=True):
    """A heading, and the prose up to the next heading."""

    level: int
    title: str
    line: int
    prose: str = ""


#: A line that goes on with the words before it: no item, heading, quotation, table, code, nor words
#: set apart by their look.
_WRAPPED = re.compile(r"(?![-*+#>|`~_<]|\d+[.)]\s)\S")


class CheckBox(Struct, frozen=True, kw_only=True):
    """One check box."""

    text: str
    line: int
    indent: int
    done: bool
    optional: bool = False
    #: The lines below that belong to it, without their common indent.
    notes: str = ""
    #: The headings around it, the outermost first.
    sections: tuple[Section, ...] = ()


class _OpenSection(Struct, frozen=True, kw_only=True):
    """A heading with the lines below it: all of them, and those of no box."""

    level: int
    title: str
    line: int
    whole: list[str] = field(default_factory=list[str])
    prose: list[str] = field(default_factory=list[str])

    def section(self, lines: list[str]) -> Section:
        return Section(level=self.level, title=self.title, line=self.line, prose=_dedented(lines))


class _Reading:
    """One pass over the lines of a text."""

    def __init__(self, text: str) -> None:
        self.boxes: list[tuple[re.Match[str], int, list[str], list[int]]] = []
        self.sections: list[_OpenSection] = []
        self.open_sections: list[int] = []
        self.fence = ""
        self.after_blank = False
        for number, line in enumerate(_uncommented(text).splitlines(), start=1):
            self._take(number, line)

    def _take(self, number: int, line: str) -> None:
        """One line: a heading, a box, or what belongs to the last of either."""
        in_code = self._in_code(line)
        if not in_code and (heading := _HEADING.match(line)):
            self._open(len(heading[1]), heading[2], number)
        else:
            if self.sections:
                self.sections[-1].whole.append(line)
            if not in_code and (box := _BOX.match(line)):
                self.boxes.append((box, number, [], list(self.open_sections)))
            else:
                self._below(line)
        self.after_blank = not line.strip()

    def _in_code(self, line: str) -> bool:
        fence = _FENCE.match(line)
        if self.fence:
            if fence and fence[1].startswith(self.fence):
                self.fence = ""
            return True
        if fence:
            self.fence = fence[1]
        return bool(fence)

    def _open(self, level: int, title: str, number: int) -> None:
        self.open_sections = [
            each for each in self.open_sections if self.sections[each].level < level
        ]
        self.open_sections.append(len(self.sections))
        self.sections.append(_OpenSection(level=level, title=title, line=number))

    def _below(self, line: str) -> None:
        """Add a line to the last box, if indented below the box or following without a gap."""
        last = self.boxes[-1] if self.boxes else None
        if last is not None and last[3] == self.open_sections:
            indent = len(line) - len(line.lstrip())
            lazy = not self.after_blank and not _ITEM.match(line) and not _RULE.match(line)
            if not line.strip() or indent > len(last[0][1]) or self.fence or lazy:
                last[2].append(line)
                return
        if self.open_sections and not _RULE.match(line):
            self.sections[-1].prose.append(line)


def boxes_of(text: str) -> list[CheckBox]:
    """Every box of a text, in order."""
    reading = _Reading(text)
    sections = [each.section(each.prose) for each in reading.sections]
    return [
        CheckBox(
            text=(match[4] or "").strip(),
            line=number,
            indent=len(match[1].expandtabs(4)),
            done=match[2] in _DONE and bool(match[2]),
            optional=bool(match[3]),
            notes=_dedented(notes),
            sections=tuple(sections[each] for each in around),
        )
        for match, number, notes, around in reading.boxes
    ]


def unwrapped(box: CheckBox) -> CheckBox:
    """A box with the words of a wrapped line as text, and not as notes below."""
    lines = box.notes.splitlines()
    count = next((at for at, line in enumerate(lines) if not _WRAPPED.match(line)), len(lines))
    words = (box.text, *(line.strip() for line in lines[:count]))
    return structs.replace(box, text=" ".join(words), notes="\n".join(lines[count:]))


def sections_of(text: str) -> Iterator[Section]:
    """Every heading of a text with all that stands below."""
    return (each.section(each.whole) for each in _Reading(text).sections)


def first_heading(text: str) -> str:
    """The title of the first heading; empty if there is none."""
    return next((section.title for section in sections_of(text)), "")


def _uncommented(text: str) -> str:
    """The text without comments; lines stay where they are."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def _dedented(lines: list[str]) -> str:
    return dedent("\n".join(line.rstrip() for line in lines).expandtabs(4)).strip("\n")
