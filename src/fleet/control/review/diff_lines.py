"""A patch read line by line, so that a remark can name a file and a line. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fleet.errors import BadInput
from fleet.schemas.shown_text import some

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOWHERE = "/dev/null"
#: How git writes characters of a name that is in quotes.
_ESCAPED = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_ESCAPES = dict(zip((bytes([each]) for each in b'abfnrtv"\\'), b'\a\b\f\n\r\t\v"\\', strict=True))
#: How many lines stand above and below the one that is quoted, and how many files a hint names.
_AROUND = 1
_FEW = 8
_LONGEST_LINE = 200


class DiffFile(Struct, frozen=True, kw_only=True):
    """One file of a patch: the lines that the patch shows, by their numbers."""

    path: str
    #: As they are after the change; of a file that is gone, as they were.
    lines: dict[int, str]

    @property
    def spans(self) -> str:
        """`3-9, 40-52`: which lines the patch shows."""
        parts: list[list[int]] = []
        for number in sorted(self.lines):
            if parts and parts[-1][1] == number - 1:
                parts[-1][1] = number
            else:
                parts.append([number, number])
        return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in parts)


class Remark(Struct, frozen=True, kw_only=True):
    """What a person says of one line, with the code that the line is."""

    path: str
    line: int
    text: str
    #: The line and both neighbours, each with a number.
    quoted: str


def files_of(patch: str) -> dict[str, DiffFile]:
    """The files of a patch in git's form, by path."""
    found: dict[str, DiffFile] = {}
    old = new = ""
    rows = iter(patch.split("\n"))
    for row in rows:
        if row.startswith("diff --git "):
            old = new = ""
        elif row.startswith("--- "):
            old = path_in_header(row)
        elif row.startswith("+++ "):
            new = path_in_header(row)
        elif hunk := _HUNK.match(row):
            gone = new == _NOWHERE
            path = old if gone else new
            file = found.setdefault(path, DiffFile(path=path, lines={}))
            file.lines.update(_shown(rows, hunk, gone=gone))
    return found


def path_in_header(row: str) -> str:
    """The path of a `+++ b/path` line."""
    name = row[4:].rstrip("\t")
    if name.startswith('"'):
        raw = name[1:].removesuffix('"').encode()
        name = _ESCAPED.sub(lambda each: bytes([_code(each[1])]), raw).decode(errors="replace")
    return name if name == _NOWHERE else name[2:]


def _code(word: bytes) -> int:
    return _ESCAPES[word] if word in _ESCAPES else int(word, 8)


def _shown(rows: Iterator[str], hunk: re.Match[str], *, gone: bool) -> Iterator[tuple[int, str]]:
    """The lines of one hunk on the side of interest, each with the line's number."""
    before, after = (int(hunk[group] or 1) if hunk[group] != "0" else 0 for group in (2, 4))
    number = int(hunk[1 if gone else 3])
    own = "-" if gone else "+"
    while before > 0 or after > 0:
        row = next(rows, None)
        if row is None:
            return  # the patch was cut
        sign, text = row[:1] or " ", row[1:]
        if sign == "\\":  # no newline at the end of the file
            continue
        before -= sign in " -"
        after -= sign in " +"
        if sign in (" ", own):
            yield number, text
            number += 1


def remark_on(files: Mapping[str, DiffFile], place: str, text: str) -> Remark:
    """A remark on `FILE:LINE` of a patch. Raises BadInput for a place that the patch has not."""
    word, colon, last = place.rpartition(":")
    if not colon or not last.isdecimal() or not word:
        raise BadInput(
            f"{place!r} is no place in the diff", hint="Give FILE:LINE, like src/a.py:12"
        )
    if not text.strip():
        raise BadInput(f"the comment on {place} is empty", hint='Say something: FILE:LINE "…"')
    file, number = _file(files, word.removeprefix("./")), int(last)
    if number not in file.lines:
        raise BadInput(
            f"line {number} of {file.path} is not in the diff",
            hint=f"The diff shows these lines of it: {file.spans}",
        )
    return Remark(path=file.path, line=number, text=text.strip(), quoted=_quoted(file, number))


def _file(files: Mapping[str, DiffFile], word: str) -> DiffFile:
    """The file that a word names: by the whole path, or by the end of the path if that
    is unique.
    """
    if word in files:
        return files[word]
    ends = [file for path, file in files.items() if path.endswith(f"/{word}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        named = ", ".join(file.path for file in ends[:_FEW])
        raise BadInput(f"{word} may be more than one file", hint=f"The diff has {named}.")
    known = some(sorted(files), _FEW) or "no file with lines"
    raise BadInput(f"{word} is not in the diff", hint=f"The diff has {known}.")


def _quoted(file: DiffFile, number: int) -> str:
    rows: list[str] = []
    for each in range(number - _AROUND, number + _AROUND + 1):
        if each in file.lines:
            mark = ">" if each == number else " "
            rows.append(f"{mark} {each:>4}  {file.lines[each][:_LONGEST_LINE]}".rstrip())
    return "\n".join(rows)


def review_text(whole: str, remarks: Sequence[Remark]) -> str:
    """What the agent is told of a review: the whole, and each remark with place and code."""
    parts = ["A person has reviewed your work so far and does not take it as it is."]
    if whole.strip():
        parts.append(whole.strip())
    parts += [f"{each.path}, line {each.line}:\n{each.quoted}\n{each.text}" for each in remarks]
    parts.append("Change what is said here, and then close the task again.")
    return "\n\n".join(parts)
