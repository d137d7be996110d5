"""Reads a task's patch as files, and one file as hunks and rows."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.review.diff_lines import path_in_header
from fleet.control.review.review import work_of
from fleet.control.tasks.receipt import diff_of
from fleet.control.tasks.task_files import read_whole, task_id_of
from fleet.control.view.task.diff_view import (
    Diff,
    DiffHunk,
    DiffPart,
    DiffRow,
    FileKind,
    FileOfDiff,
)
from fleet.control.view.task.kept_patches import KeptPatches, digest
from fleet.errors import FleetError, NotFound, Refused

#: Lines of a file's patch from which on it is folded, rows of one answer, characters of a row.
FOLDED, MOST_ROWS, _LONGEST_ROW = 2000, 2000, 2000
#: Rows of a block that are compared word by word; longer blocks are not.
_MOST_COMPARED = 200
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_WORD = re.compile(r"\w+|\s+|.")
_NOWHERE = "/dev/null"
_KEPT = KeptPatches()


class _Part(Struct, frozen=True):
    """One file's patch: the place in the whole."""

    start: int
    end: int
    shown: FileOfDiff


def read_diff(fleet: Control, word: str, run: int | None = None) -> Diff:
    """The files that a task changed: all runs together, or one run."""
    task_id = task_id_of(fleet, word)
    try:
        patch = _patch(fleet, task_id, run)
    except FleetError as error:
        return Diff(task_id=task_id, run=run, no_diff=error.message)
    files = tuple(part.shown for part in _parts(patch))
    return Diff(
        task_id=task_id,
        run=run,
        files=files,
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
        digest=_KEPT.keep(_name(fleet, task_id, run), patch),
        no_diff="" if files else "nothing was changed",
    )


def read_diff_file(
    fleet: Control, word: str, number: int, run: int | None = None, *, of: str = "", row: int = 0,
    words: bool = False,
) -> DiffPart:  # fmt: skip
    """The rows of one file of the diff, from a row on; `words`: with marks where words differ.

    `of`: the digest of the diff that the file's number was taken from. Without it, or where that
    diff is not kept any more, the work is compared anew.
    """
    task_id = task_id_of(fleet, word)
    patch = _KEPT.get(_name(fleet, task_id, run), of)
    if patch is None:
        patch = _patch(fleet, task_id, run)
        if of and _KEPT.keep(_name(fleet, task_id, run), patch) != of:
            raise Refused("the work has changed since the diff was read", hint="Look again.")
    parts = _parts(patch)
    if not 0 <= number < len(parts):
        raise NotFound(f"the diff has no file {number}", hint=f"The diff has {len(parts)} files.")
    part = parts[number]
    hunks, count = _hunks(patch[part.start : part.end], row, MOST_ROWS)
    found = tuple(_marked(hunk) for hunk in hunks) if words else tuple(hunks)
    more = row + MOST_ROWS < count
    return DiffPart(
        task_id=task_id,
        run=run,
        file=part.shown,
        hunks=found,
        first_row=row,
        next_row=row + MOST_ROWS if more else None,
    )


def _name(fleet: Control, task_id: str, run: int | None) -> str:
    return f"{fleet.home.path} {task_id} {run}"


def _patch(fleet: Control, task_id: str, run: int | None) -> bytes:
    if run is not None:
        return b"".join(read_whole(diff_of(fleet, task_id, run)))
    work = work_of(fleet, task_id)
    if work.no_diff:
        raise NotFound(work.no_diff)
    return work.patch


@lru_cache(maxsize=8)
def _parts(patch: bytes) -> tuple[_Part, ...]:
    """The patch cut into files. Kept: a page asks for one file after the other."""
    starts = [found.start() for found in re.finditer(rb"^diff --git ", patch, re.MULTILINE)]
    ends = [*starts[1:], len(patch)] if starts else []
    return tuple(
        _Part(start, end, _file(number, patch[start:end]))
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    )


def _file(number: int, data: bytes) -> FileOfDiff:
    """What the header of one file's patch says."""
    head, _, body = data.partition(b"\n@@ ")
    body = body.partition(b"\n")[2]
    lines = head.decode(errors="replace").split("\n")
    facts = {name: line for line in lines for name in _FACTS if line.startswith(name)}
    old = path_in_header(facts["--- "]) if "--- " in facts else ""
    new = path_in_header(facts["+++ "]) if "+++ " in facts else ""
    path = new if new and new != _NOWHERE else old
    if "rename to " in facts:
        path, old = _unquoted(facts["rename to "][10:]), _unquoted(facts["rename from "][12:])
    if not path:
        path = _from_first_line(lines[0])
    rows = body.count(b"\n")
    added = len(re.findall(rb"^\+", body, re.MULTILINE))
    removed = len(re.findall(rb"^-", body, re.MULTILINE))
    kind = _kind(facts, binary=b"GIT binary patch" in head or b"\nBinary files " in head)
    return FileOfDiff(
        number=number,
        path=path,
        was=old if "rename to " in facts else "",
        kind=kind,
        added=0 if kind == "binary" else added,
        removed=0 if kind == "binary" else removed,
        lines=rows,
        folded=rows > FOLDED,
        digest=digest(data),
    )


_FACTS = (
    "--- ", "+++ ", "rename from ", "rename to ", "new file mode", "deleted file mode", "old mode",
)  # fmt: skip


def _kind(facts: dict[str, str], *, binary: bool) -> FileKind:
    if binary:
        return "binary"
    if "new file mode" in facts:
        return "added"
    if "deleted file mode" in facts:
        return "deleted"
    if "rename to " in facts:
        return "renamed"
    return "mode" if "old mode" in facts and "+++ " not in facts else "changed"


def _unquoted(name: str) -> str:
    return (
        path_in_header(f"+++ b/{name}")
        if not name.startswith('"')
        else (path_in_header(f'+++ "b/{name[1:]}'))
    )


def _from_first_line(line: str) -> str:
    """`diff --git a/x b/x`: of a file without hunks both names are the same."""
    rest = line.removeprefix("diff --git ")
    half = rest[: len(rest) // 2]
    return path_in_header(f"--- {half}")


def _hunks(data: bytes, first: int, most: int) -> tuple[list[DiffHunk], int]:
    """The hunks with at most `most` rows from `first` on, and how many rows there are."""
    found: list[DiffHunk] = []
    rows: list[DiffRow] = []
    head: tuple[int, int, str] | None = None
    count = old = new = left_old = left_new = 0
    for line in data.split(b"\n"):
        hunk = _HUNK.match(line) if left_old <= 0 and left_new <= 0 else None
        if hunk is not None:
            if head is not None and rows:
                found.append(DiffHunk(old=head[0], new=head[1], heading=head[2], rows=tuple(rows)))
            rows = []
            old, new = int(hunk[1]), int(hunk[3])
            left_old, left_new = int(hunk[2] or 1), int(hunk[4] or 1)
            head = old, new, hunk[5].decode(errors="replace")
            continue
        if head is None or (left_old <= 0 and left_new <= 0 and line[:1] != b"\\"):
            continue
        row, old, new = _row(line, old, new)
        left_old -= row.sign in " -"
        left_new -= row.sign in " +"
        if first <= count < first + most:
            if not rows:
                head = row.old or old, row.new or new, head[2]
            rows.append(row)
        count += 1
    if head is not None and rows:
        found.append(DiffHunk(old=head[0], new=head[1], heading=head[2], rows=tuple(rows)))
    return found, count


def _row(line: bytes, old: int, new: int) -> tuple[DiffRow, int, int]:
    sign = line[:1].decode("latin-1") or " "
    text = line[1:].decode(errors="replace")
    cut = len(text) > _LONGEST_ROW
    text = text[:_LONGEST_ROW]
    match sign:
        case "-":
            return DiffRow(sign="-", old=old, text=text, cut=cut), old + 1, new
        case "+":
            return DiffRow(sign="+", new=new, text=text, cut=cut), old, new + 1
        case "\\":
            return DiffRow(sign="\\", text=text, cut=cut), old, new
        case _:
            return DiffRow(sign=" ", old=old, new=new, text=text, cut=cut), old + 1, new + 1


def _marked(hunk: DiffHunk) -> DiffHunk:
    """The hunk with the words marked that differ between lines that replace each other."""
    rows = list(hunk.rows)
    for removed, added in _blocks(rows):
        if len(removed) != len(added) or len(removed) > _MOST_COMPARED:
            continue
        for before, after in zip(removed, added, strict=True):
            one, two = _marks(rows[before].text, rows[after].text)
            rows[before] = structs.replace(rows[before], marks=one)
            rows[after] = structs.replace(rows[after], marks=two)
    return structs.replace(hunk, rows=tuple(rows))


def _blocks(rows: list[DiffRow]) -> Iterator[tuple[list[int], list[int]]]:
    """Groups of removed rows, each with the rows that were added in that place."""
    removed: list[int] = []
    added: list[int] = []
    for number, row in enumerate([*rows, DiffRow(sign=" ", text="")]):
        if row.sign == "-" and not added:
            removed.append(number)
        elif row.sign == "+" and removed:
            added.append(number)
        elif row.sign != "\\":
            if removed and added:
                yield removed, added
            removed, added = ([number], []) if row.sign == "-" else ([], [])


_Marks = tuple[tuple[int, int], ...]


def _marks(before: str, after: str) -> tuple[_Marks, _Marks]:
    """The stretches of two lines that differ, by words; none where little is alike."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    if len(old) + len(new) > 2000:
        return (), ()
    found = SequenceMatcher(None, old, new, autojunk=False)
    if found.ratio() < 0.4:
        return (), ()
    at_old, at_new = _places(old), _places(new)
    ops = [op for op in found.get_opcodes() if op[0] != "equal"]
    return (
        tuple((at_old[a], at_old[b]) for _, a, b, _, _ in ops if a != b),
        tuple((at_new[a], at_new[b]) for _, _, _, a, b in ops if a != b),
    )


def _places(words: list[str]) -> list[int]:
    places = [0]
    for word in words:
        places.append(places[-1] + len(word))
    return places
