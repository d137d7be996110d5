"""The list of `fleet land`, for any width: what waits, in groups, and the way on."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from fleet.cli.terminal_text import painted, table
from fleet.control.landing.waiting_list import (
    SHOWN_ORDER,
    BranchBehind,
    UnlandedBranch,
    UnlandedWork,
    WaitingList,
)
from fleet.schemas.shown_text import cells, counted, cut, duration, first_line, one_line, wrapped
from fleet.schemas.task_state import TaskState

_HEAD = ("ID", "Age", "Files", "Verdict", "Tip", "Title")
_RIGHT = frozenset({"Age", "Files"})
_LEAST_TITLE = 20
#: The colours of states; the others are yellow.
_COLOURS: Mapping[TaskState, str] = {
    "to land": "cyan", "running": "green", "verifying": "green", "stopped": "dim",
}  # fmt: skip
_BEFORE = "finished but not merged"
_WAYS: Mapping[str, str] = {
    "needs approval": "Look: fleet review ID. Land: fleet land ID…, or --all.",
    "failed": "What cannot land as it is: fleet retry ID, or the other ways: fleet show ID.",
    "before": "Take one: fleet land ID. See it: fleet land --diff ID.",
}


def waiting_table(found: WaitingList, now: datetime, width: int) -> Iterator[str]:
    """The lines of the list for a terminal of this width."""
    if found.is_empty:
        yield "Nothing waits to land."
        return
    rows: list[list[str] | str] = []
    room = _title_room(found, now, width)
    for state in SHOWN_ORDER:
        mine = [each for each in found.work if each.state == state]
        if mine:
            rows.append(painted(state, _COLOURS.get(state, "yellow")))
            rows += [_row(each, now, room) for each in mine]
    if found.before:
        rows.append(painted(_BEFORE, "dim"))
        rows += [_row(each, now, room) for each in found.before]
    if rows:
        yield from table(_HEAD, rows, right=_RIGHT, width=width, drop=("Tip", "Files"))
    for each in found.behind:
        yield from wrapped(_follows(each), width)
    for text in (*found.elsewhere, *found.left, *found.trouble):
        yield from wrapped(one_line(text), width)
    for state in ("needs approval", "failed"):
        if any(each.state == state for each in found.work):
            yield from wrapped(_WAYS[state], width)
    if found.before:
        yield from wrapped(_WAYS["before"], width)


def _title_room(found: WaitingList, now: datetime, width: int) -> int:
    """What the other columns leave to the title."""
    figures = [_figures(each, now) for each in (*found.work, *found.before)]
    columns = zip(_HEAD[:-1], *figures, strict=True)
    taken = sum(max(cells(cell) for cell in column) + 2 for column in columns)
    return max(_LEAST_TITLE, width - taken)


def _row(each: UnlandedWork | UnlandedBranch, now: datetime, room: int) -> list[str]:
    return [*_figures(each, now), "\n".join(_title(each, room))]


def _figures(each: UnlandedWork | UnlandedBranch, now: datetime) -> list[str]:
    verdict = each.verdict if isinstance(each, UnlandedWork) else "closed"
    return [
        painted(each.id, "cyan"),
        duration((now - each.since).total_seconds()) if each.since else "-",
        "-" if each.files is None else str(each.files),
        verdict,
        each.tip[:7] or "-",
    ]


def _title(each: UnlandedWork | UnlandedBranch, room: int) -> Iterator[str]:
    """The title; below, where the work goes, and what is in the way."""
    yield cut(one_line(each.title), room)
    if isinstance(each, UnlandedBranch):
        yield painted(cut(one_line(f"branch {each.branch}"), room), "dim")
        return
    into, why = f"onto {each.into}" if each.into else "", first_line(each.why)
    text = f"{into}: {why}" if into and why else into or why
    yield from (painted(line, "dim") for line in wrapped(one_line(text), room) if line)
    if each.protected:
        text = f"protected: {', '.join(each.protected)}"
        yield from (painted(line, "yellow") for line in wrapped(one_line(text), room))


def _follows(each: BranchBehind) -> str:
    commits = counted(each.commits, "commit")
    return one_line(f"{commits} beyond {each.branch}: {each.why}")
