"""What a person says of lines of a patch, held against the patch. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fleet.control.review.patch import FilePatch, files_of, hunks_of
from fleet.errors import BadInput
from fleet.schemas.shown_text import some

#: How many lines stand above and below the one that is quoted, and how many files a hint names.
_AROUND = 1
_FEW = 8
_LONGEST_LINE = 200
#: The file, the number of the line, and what is said of the line.
LineComment = tuple[str, int, str]


class Remark(Struct, frozen=True, kw_only=True):
    """What a person says of one line, with the code that the line is."""

    path: str
    line: int
    text: str
    #: The line and both neighbours, each with a number.
    quoted: str


def comment_at(place: str, text: str) -> LineComment:
    """A comment on `FILE:LINE`. Raises BadInput for what is no such place."""
    path, colon, line = place.rpartition(":")
    if not colon or not line.isdecimal() or not path:
        raise BadInput(
            f"{place!r} is no place in the diff", hint="Give FILE:LINE, like src/a.py:12"
        )
    return path, int(line), text


def remark_on(patch: bytes, comment: LineComment) -> Remark:
    """A remark on a line of a patch. Raises BadInput for a line that the patch has not."""
    path, number, text = comment
    if not text.strip():
        raise BadInput(
            f"the comment on {path}:{number} is empty", hint='Say something: FILE:LINE "…"'
        )
    file = _file(files_of(patch), path.removeprefix("./"))
    lines = lines_of(patch, file)
    if number not in lines:
        raise BadInput(
            f"line {number} of {file.shown.path} is not in the diff",
            hint=f"The diff shows these lines of it: {_spans(lines)}",
        )
    quoted = _quoted(lines, number)
    return Remark(path=file.shown.path, line=number, text=text.strip(), quoted=quoted)


def lines_of(patch: bytes, file: FilePatch) -> dict[int, str]:
    """The lines of a file that the patch shows, by their numbers: as they are after the change; of
    a file that is gone, as they were.
    """
    gone = file.shown.kind == "deleted"
    hunks, _ = hunks_of(patch[file.start : file.end], 0, len(patch))
    rows = [(row.old if gone else row.new, row.text) for hunk in hunks for row in hunk.rows]
    return {number: text for number, text in rows if number is not None}


def _spans(lines: Mapping[int, str]) -> str:
    """`3-9, 40-52`: which lines the patch shows."""
    parts: list[list[int]] = []
    for number in sorted(lines):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in parts)


def _file(files: Sequence[FilePatch], word: str) -> FilePatch:
    """The file that a word names: by the whole path, or by the end of the path if that
    is unique.
    """
    by_path = {file.shown.path: file for file in files if file.shown.lines}
    if word in by_path:
        return by_path[word]
    ends = [path for path in by_path if path.endswith(f"/{word}")]
    if len(ends) == 1:
        return by_path[ends[0]]
    if ends:
        named = ", ".join(ends[:_FEW])
        raise BadInput(f"{word} may be more than one file", hint=f"The diff has {named}.")
    known = some(sorted(by_path), _FEW) or "no file with lines"
    raise BadInput(f"{word} is not in the diff", hint=f"The diff has {known}.")


def _quoted(lines: Mapping[int, str], number: int) -> str:
    rows: list[str] = []
    for each in range(number - _AROUND, number + _AROUND + 1):
        if each in lines:
            mark = ">" if each == number else " "
            rows.append(f"{mark} {each:>4}  {lines[each][:_LONGEST_LINE]}".rstrip())
    return "\n".join(rows)


def review_text(whole: str, remarks: Sequence[Remark]) -> str:
    """What the agent is told of a review: the whole, and each remark with place and code."""
    parts = ["A person has reviewed your work so far and does not take it as it is."]
    if whole.strip():
        parts.append(whole.strip())
    parts += [f"{each.path}, line {each.line}:\n{each.quoted}\n{each.text}" for each in remarks]
    parts.append("Change what is said here, and then close the task again.")
    return "\n\n".join(parts)
