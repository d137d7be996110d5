"""What an operator's agent reads of fleet: small pages, each with the place where the next begins.

A page has at most 20 kB, so that no answer fills the context of the agent that asked.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct

from fleet.control import Control
from fleet.control.tasks.questions import questions
from fleet.control.tasks.receipt import diff_of, receipt_of
from fleet.control.tasks.task_files import read_whole
from fleet.control.usage import BYS, ended_runs, spent
from fleet.control.view.now import Group, TaskRow
from fleet.control.view.read_now import NowReader, rows_of
from fleet.errors import BadInput, NotFound

#: Bytes of one page, and of a diff or record that is read at all.
PAGE, _LARGEST = 20_000, 4 << 20
_GROUPS: tuple[Group, ...] = get_args(Group)


class Page(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of an answer: rows, or a stretch of text. `next`: what to ask for as `from`."""

    rows: tuple[Any, ...] = ()
    text: str = ""
    total: int = 0
    next: int | None = None


class ReadTool(Struct, frozen=True, kw_only=True):
    """One reading tool: the purpose, the arguments, and the function that reads."""

    about: str
    #: The properties of its arguments beside `from`, as JSON Schema has them.
    takes: Mapping[str, Any] = {}
    required: tuple[str, ...] = ()
    read: Callable[[Control, Mapping[str, Any]], Page]


def page_of(fleet: Control, name: str, given: Mapping[str, Any]) -> Page:
    """Read one page. Raises FleetError."""
    tool = READ[name]
    for field in tool.required:
        if not isinstance(given.get(field), str) or not given[field]:
            raise BadInput(f"{name} needs {field}")
    return tool.read(fleet, given)


def _list(fleet: Control, given: Mapping[str, Any]) -> Page:
    rows = _rows(fleet)
    if (group := given.get("group")) is not None:
        if group not in _GROUPS:
            raise BadInput(f"there is no group {group!r}", hint=f"One of {', '.join(_GROUPS)}")
        rows = [row for row in rows if row.group == group]
    return _paged([_short(row) for row in rows], given)


def _short(row: TaskRow) -> dict[str, Any]:
    """What a list says of a task; empty fields are left out."""
    names = (
        *(
            "id",
            "title",
            "state",
            "group",
            "status",
            "priority",
            "project",
            "coder",
            "model",
            "since",
        ),
        *("until", "reason", "question", "verdict", "landing_words"),
    )
    found = cast("dict[str, Any]", msgspec.to_builtins(row))
    return {name: found[name] for name in names if found.get(name) not in (None, "")}


def _show(fleet: Control, given: Mapping[str, Any]) -> Page:
    task = fleet.get(given["id"])
    whole = {"task": task, "now": _row(fleet, task.id)}
    return _text(msgspec.json.format(msgspec.json.encode(whole)).decode(), given)


def _why(fleet: Control, given: Mapping[str, Any]) -> Page:
    row = _row(fleet, given["id"])
    until = f" (until {row.until.isoformat()})" if row.until else ""
    way = f"\nTo change that: {row.way_on.line}" if row.way_on else ""
    return _text(f"{row.id}: {row.standing.words}{until}{way}", given)


def _receipt(fleet: Control, given: Mapping[str, Any]) -> Page:
    receipt = receipt_of(fleet, given["id"], _number(given, "run"))
    return _text(msgspec.json.format(msgspec.json.encode(receipt)).decode(), given)


def _diff(fleet: Control, given: Mapping[str, Any]) -> Page:
    path = diff_of(fleet, given["id"], _number(given, "run"))
    data = b""
    for part in read_whole(path):
        data += part
        if len(data) > _LARGEST:
            break
    return _text(data[:_LARGEST].decode(errors="replace"), given)


def _questions(fleet: Control, given: Mapping[str, Any]) -> Page:
    asked, _ = questions(fleet)
    return _paged([msgspec.to_builtins(each) for each in asked], given)


def _usage(fleet: Control, given: Mapping[str, Any]) -> Page:
    by = given.get("by", "day")
    if by not in BYS:
        raise BadInput(f"there is no grouping {by!r}", hint=f"One of {', '.join(BYS)}")
    groups = spent(ended_runs(fleet), by)
    return _paged([msgspec.to_builtins(each) for each in groups], given)


def _rows(fleet: Control) -> list[TaskRow]:
    now = NowReader(fleet).read(datetime.now(UTC))
    if now.supervisor.queue_problem and not now.rows:
        raise NotFound(f"the queue cannot be read: {now.supervisor.queue_problem}")
    return list(now.rows)


def _row(fleet: Control, word: str) -> TaskRow:
    task = fleet.get(word)
    return rows_of(fleet, (task,), datetime.now(UTC))[0][task.id]


def _paged(rows: Sequence[Any], given: Mapping[str, Any]) -> Page:
    """The rows from `from` on that fit onto a page; one that is larger than a page is cut."""
    start = _number(given, "from") or 0
    kept: list[Any] = []
    size = 0
    for row in rows[start:]:
        data = msgspec.json.encode(row)
        size += len(data)
        if size > PAGE and kept:
            break
        kept.append(row if len(data) <= PAGE else {"cut": data[:PAGE].decode(errors="ignore")})
    end = start + len(kept)
    return Page(rows=tuple(kept), total=len(rows), next=end if end < len(rows) else None)


def _text(text: str, given: Mapping[str, Any]) -> Page:
    """The stretch of a text from `from` on, cut at the end of a line where there is one."""
    start = _number(given, "from") or 0
    part = text[start : start + PAGE].encode()[:PAGE].decode(errors="ignore")
    if start + len(part) < len(text) and (line := part.rfind("\n")) > 0:
        part = part[: line + 1]
    end = start + len(part)
    return Page(text=part, total=len(text), next=end if end < len(text) else None)


def _number(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadInput(f"{name} must be a whole number from 0 on")
    return value


_ID = {"id": {"type": "string", "description": "the task"}}
_RUN = {"run": {"type": "integer", "description": "which run; else the latest"}}

READ: Mapping[str, ReadTool] = {
    "list": ReadTool(
        about="The tasks: what needs a person, what runs, what waits and why, what is done.",
        takes={"group": {"type": "string", "enum": list(_GROUPS)}},
        read=_list,
    ),
    "show": ReadTool(about="All of one task.", takes=_ID, required=("id",), read=_show),
    "why": ReadTool(
        about="Why a task does not run, and the act that would change it.",
        takes=_ID,
        required=("id",),
        read=_why,
    ),
    "receipt": ReadTool(
        about="What fleet itself saw of a run: verdict, rules, checks, changes, cost.",
        takes={**_ID, **_RUN},
        required=("id",),
        read=_receipt,
    ),
    "diff": ReadTool(
        about="What a run changed, as a patch.",
        takes={**_ID, **_RUN},
        required=("id",),
        read=_diff,
    ),
    "questions": ReadTool(about="What agents ask people.", read=_questions),
    "usage": ReadTool(
        about="Where tokens and money went.",
        takes={"by": {"type": "string", "enum": list(BYS)}},
        read=_usage,
    ),
}
