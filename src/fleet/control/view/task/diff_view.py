"""A task's work as files, hunks and rows, one file a request."""

from typing import Literal

from msgspec import Struct

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


class Diff(Struct, frozen=True, kw_only=True):
    """The files that a task, or one run, changed."""

    task_id: str
    #: The run; None: all runs together.
    run: int | None = None
    files: tuple[FileOfDiff, ...] = ()
    added: int = 0
    removed: int = 0
    #: Of the whole patch.
    digest: str = ""
    #: Why there is no diff; empty if there is one.
    no_diff: str = ""


class DiffPart(Struct, frozen=True, kw_only=True):
    """The hunks of one file, or some of them."""

    task_id: str
    run: int | None = None
    file: FileOfDiff
    hunks: tuple[DiffHunk, ...] = ()
    #: Rows before the first and behind the last that are here; `next_row` None: that is all.
    first_row: int = 0
    next_row: int | None = None
