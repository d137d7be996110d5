"""Between bd's issues and fleet's tasks, and from a Draft to the arguments of `bd create`."""

import csv
import io
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from fleet.errors import BadInput, QueueUnavailable
from fleet.queue.protocol import Draft
from fleet.schemas import Settings, Status, Task

#: Characters of at most four bytes: the kernel takes no argument over 128 KiB.
LONG = 30_000


class Issue(Struct, frozen=True, kw_only=True):
    """One issue as bd prints it; what is empty is left out there."""

    id: str
    title: str = ""
    status: str = "open"
    priority: int = 2
    issue_type: str = "task"
    created_at: datetime
    updated_at: datetime
    description: str = ""
    design: str = ""
    acceptance_criteria: str = ""
    notes: str = ""
    spec_id: str = ""
    assignee: str = ""
    owner: str = ""
    created_by: str = ""
    estimated_minutes: int | None = None
    started_at: datetime | None = None
    closed_at: datetime | None = None
    close_reason: str = ""
    due_at: datetime | None = None
    defer_until: datetime | None = None
    external_ref: str | None = None
    metadata: Any = None
    labels: list[str] | None = None
    dependencies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def needs(self) -> set[tuple[str, str]]:
        """(type, id) of what this issue depends on; `show` and `list` tell it differently."""
        return {
            (
                str(edge.get("dependency_type", edge.get("type"))),
                str(edge.get("id", edge.get("depends_on_id"))),
            )
            for edge in self.dependencies
        }


def issues_of(answer: Any) -> list[Issue]:
    """The issues of an answer; `show` and `list` give an array, `create` one object."""
    several: Any = cast("list[Any]", answer) if isinstance(answer, list) else [answer]
    try:
        return msgspec.convert(several, list[Issue])
    except msgspec.ValidationError as error:
        raise QueueUnavailable(
            f"bd answered in a shape that fleet does not know: {error}",
            hint="This bd may be newer than this fleet.",
        ) from error


def task_of(issue: Issue) -> Task:
    """The task that an issue tells of, without its lease: the ledger knows that."""
    given: Any = issue.metadata
    metadata = cast("dict[str, Any]", given) if isinstance(given, dict) else dict[str, Any]()
    settings = settings_of(metadata)
    return Task(
        id=issue.id,
        title=issue.title,
        # A status that the user added to bd is shown as it is; no rule of ours names it.
        status=cast("Status", issue.status),
        priority=issue.priority,
        issue_type=issue.issue_type,
        created_at=to_second(issue.created_at),
        updated_at=to_second(issue.updated_at),
        description=issue.description,
        design=issue.design,
        acceptance_criteria=issue.acceptance_criteria,
        notes=issue.notes,
        spec_id=issue.spec_id,
        assignee=issue.assignee,
        owner=issue.owner,
        created_by=issue.created_by,
        estimated_minutes=issue.estimated_minutes,
        started_at=issue.started_at,
        closed_at=issue.closed_at,
        close_reason=issue.close_reason,
        due_at=issue.due_at and to_second(issue.due_at),
        defer_until=issue.defer_until and to_second(issue.defer_until),
        external_ref=issue.external_ref,
        metadata=metadata,
        labels=tuple(sorted(issue.labels or ())),
        cwd=settings.cwd,
        coder=settings.coder,
        model=settings.model,
    )


def settings_of(metadata: dict[str, Any]) -> Settings:
    own = metadata.get("fleet")
    known: dict[str, Any] = cast("dict[str, Any]", own) if isinstance(own, dict) else {}

    def text(name: str) -> str | None:
        value = known.get(name)
        return value if isinstance(value, str) else None

    return Settings(cwd=text("cwd"), coder=text("coder"), model=text("model"))


def to_second(moment: datetime) -> datetime:
    """As bd stores it: `create` prints more digits than any later call will."""
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
        args.append(f"--labels={_comma_separated(draft.labels)}")
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
    if draft.metadata:
        text = msgspec.json.encode(draft.metadata).decode()
        args.append(_maybe_file("--metadata=", "--metadata=@", text, scratch / "metadata.json"))
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
    long = (
        ("--description=", "--body-file=", draft.description, "description.md"),
        ("--design=", "--design-file=", draft.design, "design.md"),
    )
    args += [_maybe_file(i, f, text, scratch / name) for i, f, text, name in long if text]
    return args


def _maybe_file(inline: str, by_file: str, text: str, file: Path) -> str:
    """The text itself, or a file with it where it is too long or `-` would mean standard input."""
    if text != "-" and len(text) <= LONG:
        return inline + text
    file.write_text(text, encoding="utf-8")
    return f"{by_file}{file}"


def _edge(kind: str, target: str) -> str:
    """One item of `--deps`: bd reads `blocks:X` the other way round, and a bare id this way."""
    return target if kind == "blocks" else f"{kind}:{target}"


def _comma_separated(words: Sequence[str]) -> str:
    """As bd's flag parser reads a list: CSV, so that a quote or comma in a word stays in it."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(words)
    return line.getvalue()
