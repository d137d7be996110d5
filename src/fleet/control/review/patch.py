"""A patch in git's form as files, hunks and rows. Pure."""

import re
from functools import lru_cache
from hashlib import sha256
from typing import Literal

from msgspec import Struct

#: Lines of a file's patch from which on it is folded, and characters of a row.
FOLDED, _LONGEST_ROW = 2000, 2000
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_NOWHERE = "/dev/null"
#: How git writes characters of a name that is in quotes.
_ESCAPED = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_ESCAPES = dict(zip((bytes([each]) for each in b'abfnrtv"\\'), b'\a\b\f\n\r\t\v"\\', strict=True))

FileKind = Literal["changed", "added", "deleted", "renamed", "binary", "mode"]
#: ` ` in both, `-` only before, `+` only after, `\\` a remark of git's.
Sign = Literal[" ", "-", "+", "\\"]


class DiffRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a hunk."""

    sign: Sign
    #: The line's number before and after; None: it is not there.
    old: int | None = None
    new: int | None = None
    text: str
    #: Stretches of the text that differ from the line that it replaces: (from, to) in characters.
    marks: tuple[tuple[int, int], ...] = ()
    #: The line is longer than what is shown.
    cut: bool = False


class DiffHunk(Struct, frozen=True, kw_only=True):
    """A stretch of a file that changed."""

    old: int
    new: int
    #: What git says of the place: the function, the class.
    heading: str = ""
    rows: tuple[DiffRow, ...] = ()


class FileOfDiff(Struct, frozen=True, kw_only=True):
    """One file of a diff, in the list of files."""

    #: The file's place in the list, by which the file's rows are asked for.
    number: int
    path: str
    #: The name that the file had; empty: the same.
    was: str = ""
    kind: FileKind
    added: int = 0
    removed: int = 0
    #: Lines of the patch. A large one is folded until it is asked for.
    lines: int = 0
    folded: bool = False
    #: Of the patch of this file: what was viewed is to be viewed again when this changes.
    digest: str


class FilePatch(Struct, frozen=True):
    """One file of a patch, and the place of this file's own patch in the whole."""

    start: int
    end: int
    shown: FileOfDiff


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


@lru_cache(maxsize=8)
def files_of(patch: bytes) -> tuple[FilePatch, ...]:
    """The patch cut into files. Kept: a surface asks for one file after the other."""
    starts = [found.start() for found in re.finditer(rb"^diff --git ", patch, re.MULTILINE)]
    ends = [*starts[1:], len(patch)] if starts else []
    return tuple(
        FilePatch(start, end, _file(number, patch[start:end]))
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


def hunks_of(data: bytes, first: int, most: int) -> tuple[list[DiffHunk], int]:
    """The hunks of one file's patch, with at most `most` rows from `first` on, and how many rows it
    has.
    """
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


def path_in_header(row: str) -> str:
    """The path of a `+++ b/path` line."""
    name = row[4:].rstrip("\t")
    if name.startswith('"'):
        raw = name[1:].removesuffix('"').encode()
        name = _ESCAPED.sub(lambda each: bytes([_code(each[1])]), raw).decode(errors="replace")
    return name if name == _NOWHERE else name[2:]


def _code(word: bytes) -> int:
    return _ESCAPES[word] if word in _ESCAPES else int(word, 8)
