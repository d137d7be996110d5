"""Between bd's issues and fleet's tasks, and from a Draft to the arguments of `bd create`."""

import csv
import io
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import structs

from fleet.errors import BadInput, QueueUnavailable
from fleet.queue.protocol import Draft
from fleet.schemas import Comment, Edge, Status, Task, settings_in, typed
from fleet.schemas.task import IN_METADATA

#: Characters of at most four bytes: the kernel takes no argument over 128 KiB.
LONG = 30_000


#: Fields of a task that bd prints under the same name; leases and `not_before` are the ledger's.
_FIELDS = frozenset(Task.__struct_fields__) - frozenset(
    (
        "status", "labels", "metadata", "extra", "fence", "lease_owner", "lease_until",
        "heartbeat_at", "not_before", "waits", *IN_METADATA,
    )
)  # fmt: skip


def rows_in(answer: Any) -> list[dict[str, Any]]:
    """The issues of an answer; `show` and `list` give an array, `create` one object."""
    several: Any = cast("list[Any]", answer) if isinstance(answer, list) else [answer]
    try:
        return typed.convert(several, list[dict[str, Any]])
    except msgspec.ValidationError as error:
        raise _unknown_shape(error) from error


def tasks_in(answer: Any) -> list[Task]:
    """The tasks that an answer tells of, without their leases: the ledger knows those."""
    try:
        return [_task_of(row) for row in rows_in(answer)]
    except msgspec.ValidationError as error:
        raise _unknown_shape(error) from error


def comments_in(answer: Any) -> list[Comment]:
    """The comments of an answer; bd answers null where there is none."""
    try:
        rows = [{**row, "task_id": row.get("issue_id")} for row in rows_in(answer or [])]
        return typed.convert(rows, list[Comment])
    except msgspec.ValidationError as error:
        raise _unknown_shape(error) from error


def _unknown_shape(error: msgspec.ValidationError) -> QueueUnavailable:
    return QueueUnavailable(
        f"bd answered in a shape that fleet does not know: {error}",
        hint="This bd may be newer than this fleet.",
    )


def _task_of(row: dict[str, Any]) -> Task:
    given = {name: row[name] for name in _FIELDS & row.keys() if row[name] is not None}
    metadata: Any = row.get("metadata")
    task = typed.convert(
        {
            **given,
            "metadata": metadata if isinstance(metadata, dict) else {},
            "labels": sorted(row.get("labels") or ()),
        },
        Task,
    )
    settings = settings_in(task.metadata)
    return structs.replace(
        task,
        # A status that the user added to bd is shown as it is; no rule of ours names it.
        status=cast("Status", typed.convert(row.get("status", "open"), str)),
        created_at=to_second(task.created_at),
        updated_at=to_second(task.updated_at),
        due_at=task.due_at and to_second(task.due_at),
        defer_until=task.defer_until and to_second(task.defer_until),
        **{name: settings.get(name) for name in IN_METADATA},
    )


def edges_in(rows: Sequence[dict[str, Any]]) -> set[Edge]:
    """What the issues depend on; `show` and `list` have different fields for that."""
    return {
        Edge(
            row["id"],
            str(edge.get("id", edge.get("depends_on_id"))),
            str(edge.get("dependency_type", edge.get("type"))),
        )
        for row in rows
        for edge in row.get("dependencies") or ()
    }


def to_second(moment: datetime) -> datetime:
    """The moment rounded to seconds, as bd stores moments: `create` prints more digits than any
    later call.
    """
    return (moment + timedelta(microseconds=500_000)).replace(microsecond=0)


def create_args(draft: Draft, scratch: Path) -> list[str]:
    """`bd create` for a draft, complete in one call; long text is laid down in `scratch`."""
    args = ["create", f"--title={draft.title}", f"--priority={draft.priority}"]
    args.append(f"--type={draft.issue_type}")
    if draft.id is not None:
        # The user chose the id, prefix and all.
        args += [f"--id={draft.id}", "--force"]
    if draft.parent is not None:
        args.append(f"--parent={draft.parent}")
        if not draft.inherit_labels:
            args.append("--no-inherit-labels")
    if draft.labels:
        args.append(f"--labels={comma_separated(draft.labels)}")
    edges = [_edge(kind, target) for kind, target in draft.depends_on]
    edges += [f"blocks:{waiting}" for waiting in draft.blocks]
    if edges:
        args.append(f"--deps={','.join(edges)}")
    args += _texts(draft, scratch)
    if draft.estimated_minutes is not None:
        args.append(f"--estimate={draft.estimated_minutes}")
    for flag, moment in (("--due", draft.due_at), ("--defer", draft.defer_until)):
        if moment is not None:
            args.append(f"{flag}={moment.isoformat()}")
    return args


def _texts(draft: Draft, scratch: Path) -> list[str]:
    plain = {
        "--assignee": draft.assignee,
        "--acceptance": draft.acceptance_criteria,
        "--notes": draft.notes,
        "--spec-id": draft.spec_id,
        "--external-ref": draft.external_ref or "",
    }
    args: list[str] = []
    for flag, text in plain.items():
        if len(text) > LONG:
            raise BadInput(f"{flag} is too long for bd", hint="Put the text into the description.")
        if text:
            args.append(f"{flag}={text}")
    return [*args, *long_texts(draft, scratch)]


def long_texts(draft: Draft, scratch: Path) -> list[str]:
    """The flags of a draft whose text may be too long for an argument."""
    metadata = msgspec.json.encode(draft.metadata).decode() if draft.metadata else ""
    long = (
        ("--description=", "--body-file=", draft.description, "description.md"),
        ("--design=", "--design-file=", draft.design, "design.md"),
        ("--metadata=", "--metadata=@", metadata, "metadata.json"),
    )
    return [_maybe_file(i, f, text, scratch / name) for i, f, text, name in long if text]


def _maybe_file(inline: str, by_file: str, text: str, file: Path) -> str:
    """The text inline, or in a file where too long, or where `-` would mean standard input."""
    if text != "-" and len(text) <= LONG:
        return inline + text
    file.write_text(text, encoding="utf-8")
    return f"{by_file}{file}"


def _edge(kind: str, target: str) -> str:
    """One item of `--deps`: bd reads `blocks:X` the other way round, and a bare id this way."""
    return target if kind == "blocks" else f"{kind}:{target}"


def comma_separated(words: Sequence[str]) -> str:
    """The words as CSV, which bd's flag parser reads a list as, so that a quote or comma stays in a
    word.
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(words)
    return line.getvalue()
