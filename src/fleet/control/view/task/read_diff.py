"""A task's work as files, hunks and rows, one file a request.

Patches that were read lately are kept by digest: a surface asks for one file after the other, and
means the patch whose list was shown, whatever the agent has changed since.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.review.patch import DiffHunk, DiffRow, FileOfDiff, digest, files_of, hunks_of
from fleet.control.review.review import work_of
from fleet.control.tasks.receipt import diff_of
from fleet.control.tasks.task_files import read_whole, task_id_of
from fleet.errors import FleetError, NotFound, Refused

#: Rows of one answer, and bytes of all patches that are kept.
MOST_ROWS, _MOST = 2000, 64 << 20
#: Rows of a block that are compared word by word; longer blocks are not.
_MOST_COMPARED = 200
_WORD = re.compile(r"\w+|\s+|.")


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


class KeptPatches:
    """The latest patches of a process. For many threads."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._patches: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def keep(self, task: str, patch: bytes) -> str:
        """Keep a patch of a task; returns the digest."""
        name = digest(patch)
        with self._lock:
            self._patches[task, name] = patch
            self._patches.move_to_end((task, name))
            while sum(map(len, self._patches.values())) > self._most and len(self._patches) > 1:
                self._patches.popitem(last=False)
        return name

    def get(self, task: str, name: str) -> bytes | None:
        """The patch of a task with this digest; None: not kept."""
        with self._lock:
            return self._patches.get((task, name))


_KEPT = KeptPatches()


def read_diff(fleet: Control, word: str, run: int | None = None) -> Diff:
    """The files that a task changed: all runs together, or one run."""
    task_id = task_id_of(fleet, word)
    try:
        patch = _patch(fleet, task_id, run)
    except FleetError as error:
        return Diff(task_id=task_id, run=run, no_diff=error.message)
    files = tuple(part.shown for part in files_of(patch))
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
    parts = files_of(patch)
    if not 0 <= number < len(parts):
        raise NotFound(f"the diff has no file {number}", hint=f"The diff has {len(parts)} files.")
    part = parts[number]
    hunks, count = hunks_of(patch[part.start : part.end], row, MOST_ROWS)
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
