"""A diff as lines: each file with figures, and the rows below unless folded. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from fleet.control.review.patch import DiffHunk, DiffRow, FileOfDiff
from fleet.control.view.task.read_diff import Diff, DiffPart
from fleet.schemas.shown_text import cells, counted
from fleet.tui.spans import EMPTY, Listing, ListingDraft, Span, SpanLine, clipped, plain, said

#: The width from which on both sides have room.
SPLIT_FROM = 120
_SIGNS = {"+": "green", "-": "red", "\\": "dim", " ": ""}
_KINDS = {"changed": "M", "added": "A", "deleted": "D", "renamed": "R", "binary": "B", "mode": "m"}


def patch_listing(
    diff: Diff,
    parts: Mapping[int, DiffPart],
    *,
    folded: Collection[int] = (),
    viewed: Collection[str] = (),
    split: int = 0,
) -> Listing:
    """The lines of a diff. `viewed`: digests of files that the person has looked at; `split`: the
    width to show before and after side by side in, 0: one below the other.
    """
    draft = ListingDraft()
    if diff.no_diff:
        draft.add(((said(diff.no_diff), "dim"),))
        return draft.done()
    total = counted(len(diff.files), "file")
    draft.add(((f"{total}  ", "bold"), (f"+{diff.added} ", "green"), (f"-{diff.removed}", "red")))
    for file in diff.files:
        is_folded = file.number in folded
        draft.add(_file(file, is_folded=is_folded, is_viewed=file.digest in viewed), key(file))
        if is_folded:
            continue
        part = parts.get(file.number)
        if part is None:
            draft.add((("  … is read", "dim"),), key(file, "wait"))
            continue
        for name, line in _split_rows(part, split) if split else _rows(part):
            draft.add(line, key(file, name))
        if part.next_row is not None:
            draft.add((("  … more: Enter", "dim"),), key(file, f"more:{part.next_row}"))
    return draft.done()


def key(file: FileOfDiff, place: str = "") -> str:
    """The name of a line of a diff: the file, and the place inside."""
    return f"{file.number}/{place}"


def place_of(name: str) -> tuple[int, str]:
    """The file that a line belongs to, and the line's place: `new:12`, `old:9`, `more:2000` or
    empty.
    """
    number, _, place = name.partition("/")
    return (int(number), place) if number.isdecimal() else (-1, "")


def _file(file: FileOfDiff, *, is_folded: bool, is_viewed: bool) -> SpanLine:
    was = f" (was {said(file.was)})" if file.was else ""
    figures: tuple[Span, ...] = ((f"  +{file.added}", "green"), (f" -{file.removed}", "red"))
    seen: tuple[Span, ...] = (("  viewed", "dim"),) if is_viewed else ()
    mark = "▸" if is_folded else "▾"
    name = (f"{mark} {_KINDS[file.kind]} {said(file.path)}{was}", "bold")
    return (name, *figures, *seen)


def _rows(part: DiffPart) -> Iterator[tuple[str, SpanLine]]:
    for hunk in part.hunks:
        yield f"hunk:{hunk.old}", _hunk(hunk)
        for row in hunk.rows:
            place = f"new:{row.new}" if row.new is not None else f"old:{row.old}"
            yield place, _row(row)


def _split_rows(part: DiffPart, width: int) -> Iterator[tuple[str, SpanLine]]:
    """What was taken away beside what came instead."""
    half = (width - 1) // 2
    for hunk in part.hunks:
        yield f"hunk:{hunk.old}", _hunk(hunk)
        for left, right in pairs(hunk.rows):
            after = right if right is not None and right.new is not None else None
            place = f"new:{after.new}" if after else f"old:{left.old if left else 0}"
            yield place, (*_half(left, half), ("│", "dim"), *_half(right, half))


def pairs(rows: Sequence[DiffRow]) -> Iterator[tuple[DiffRow | None, DiffRow | None]]:
    """The rows of a hunk, before and after: what is the same on both sides, and blocks that
    replace each other line by line.
    """
    gone: list[DiffRow] = []
    come: list[DiffRow] = []
    for row in rows:
        if row.sign == "-" and not come:
            gone.append(row)
        elif row.sign == "+":
            come.append(row)
        else:
            yield from zip_longest(gone, come)
            gone, come = ([row], []) if row.sign == "-" else ([], [])
            if row.sign != "-":
                yield row, row
    yield from zip_longest(gone, come)


def _half(row: DiffRow | None, width: int) -> SpanLine:
    """One side of a row, in exactly this width."""
    line = clipped(_row(row), width) if row is not None else EMPTY
    return (*line, (" " * (width - cells(plain(line))), ""))


def _hunk(hunk: DiffHunk) -> SpanLine:
    return ((f"  @@ -{hunk.old} +{hunk.new} @@ {said(hunk.heading)}", "cyan"),)


def _row(row: DiffRow) -> SpanLine:
    number = row.new if row.new is not None else row.old
    style = _SIGNS[row.sign]
    spans: list[Span] = [(f"{number or '':>5} ", "dim"), (row.sign, style)]
    at = 0
    for begin, end in row.marks:  # words that differ from the line that this one replaces
        spans += [
            (said(row.text[at:begin]), style),
            (said(row.text[begin:end]), f"reverse {style}"),
        ]
        at = end
    spans.append((said(row.text[at:]), style))
    if row.cut:
        spans.append(("…", "dim"))
    return tuple(spans)
