"""Check boxes in Markdown, each with what stands below and the sections around. Pure.

Boxes in code, in comments and in quotations are examples, and no tasks.
"""

import re
from collections.abc import Iterator

from msgspec import Struct, structs

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


class _Reading:
    """The state of one pass over the lines."""

    def __init__(self) -> None:
        self.boxes: list[tuple[re.Match[str], int, list[str], list[int]]] = []
        self.sections: list[tuple[int, str, int, list[str]]] = []
        self.open_sections: list[int] = []
        self.fence = ""
        self.after_blank = False

    def take(self, number: int, line: str) -> None:
        """One line: a heading, a box, or what belongs to the last of either."""
        if self._in_code(line):
            self._below(line)
        elif heading := _HEADING.match(line):
            self._open(len(heading[1]), heading[2], number)
        elif box := _BOX.match(line):
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
        self.open_sections = [each for each in self.open_sections if self.sections[each][0] < level]
        self.open_sections.append(len(self.sections))
        self.sections.append((level, title, number, []))

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
            self.sections[self.open_sections[-1]][3].append(line)


def boxes_of(text: str) -> list[CheckBox]:
    """Every box of a text, in order."""
    reading = _Reading()
    for number, line in enumerate(_uncommented(text).splitlines(), start=1):
        reading.take(number, line)
    sections = [
        Section(level=level, title=title, line=line, prose=_dedented(prose))
        for level, title, line, prose in reading.sections
    ]
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
    """Every heading of a text with the prose below."""
    found: list[tuple[int, str, int, list[str]]] = []
    fence = ""
    for number, line in enumerate(_uncommented(text).splitlines(), start=1):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            found.append((len(heading[1]), heading[2], number, []))
            continue
        if found:
            found[-1][3].append(line)
    for level, title, number, prose in found:
        yield Section(level=level, title=title, line=number, prose=_dedented(prose))


def first_heading(text: str) -> str:
    """The title of the first heading; empty if there is none."""
    return next((section.title for section in sections_of(text)), "")


def _uncommented(text: str) -> str:
    """The text without comments; lines stay where they are."""
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)


def _dedented(lines: list[str]) -> str:
    from textwrap import dedent

    return dedent("\n".join(line.rstrip() for line in lines).expandtabs(4)).strip("\n")
