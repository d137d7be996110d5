"""`bd export` and `bd import`: JSON lines that the real bd writes and reads as well."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output import jsonl
from fleet.bd.pflag import Flag
from fleet.bd.verbs.list_ import counted
from fleet.errors import BadInput
from fleet.queue.sql.tracker import comments
from fleet.queue.sql.tracker.import_export import Report, all_tasks, bring_in
from fleet.queue.sql.tracker.named_values import custom_statuses
from fleet.queue.sql.tracker.related import comments_of
from fleet.schemas.shown_text import harmless_json

_INFRA = ("agent", "role", "rig", "message")


def _export(call: Call) -> Reply:
    name = call.line.text("output")
    if not name:
        for line in _lines(call):
            text = line.decode()
            print(harmless_json(text) if call.out.isatty() else text, file=call.out)
        return Reply()
    count = 0
    try:
        with _new_file(Path(name)) as file:
            for line in _lines(call):
                file.write(line + b"\n")
                count += 1
    except OSError as error:
        raise BadInput(f"cannot write {name}: {error.strerror or error}") from None
    call.warn(f"Exported {count} records to {name}")
    return Reply()


def _lines(call: Call) -> Iterator[bytes]:
    every = call.line.switch("all")
    infra = every or call.line.switch("include-infra")
    owners = call.line.list("exclude-owner")
    for tasks in all_tasks(call.queue):
        wanted = [
            task
            for task in tasks
            if (infra or task.issue_type not in _INFRA) and task.created_by not in owners
        ]
        said = comments_of(call.queue, [task.id for task in wanted])
        for task, row in zip(wanted, counted(call.queue, wanted), strict=True):
            yield jsonl.issue_line(row, said.get(task.id, ()))
    if every or call.line.switch("include-memories"):
        for key, value in comments.memories(call.queue).items():
            yield jsonl.memory_line(key, value)


@contextmanager
def _new_file(path: Path) -> Generator[Any]:
    """A file that is there only when whole."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _import(call: Call) -> Reply:
    name = values.at_most_one(call) or call.line.text("input")
    if not name:
        raise BadInput("no file given: name one, or use 'bd import -' to import what you piped")
    source = "stdin" if name == "-" else name
    rehearse = call.line.switch("dry-run")
    custom = custom_statuses(call.queue)
    with _opened(call, name) as lines:
        report = bring_in(
            call.queue,
            jsonl.read_lines(lines, call.now, custom),
            allow_stale=call.line.switch("allow-stale"),
            dedup=call.line.switch("dedup"),
            rehearse=rehearse,
        )
    if not call.json:
        _tell(call, report, source, rehearse=rehearse)
    return Reply(value=_shape(report, source, rehearse=rehearse))


@contextmanager
def _opened(call: Call, name: str) -> Generator[Iterator[bytes]]:
    if name == "-":
        yield _bytes(call.stdin)
        return
    try:
        with Path(name).open("rb") as file:
            yield iter(file)
    except OSError as error:
        raise BadInput(f"cannot read {name}: {error.strerror or error}") from None


def _bytes(stdin: TextIO) -> Iterator[bytes]:
    """Standard input as bytes: a line that is not UTF-8 is refused by number."""
    raw = getattr(stdin, "buffer", None)
    return iter(raw) if raw is not None else (line.encode() for line in stdin)


def _shape(report: Report, source: str, *, rehearse: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "source": source,
        "created": len(report.ids),
        "skipped": len(report.stale),
    }
    optional: dict[str, Any] = {
        "ids": report.ids,
        "dry_run": rehearse,
        "memories": report.memories,
        "dedup_skipped": report.duplicates,
        "stale_skipped_ids": report.stale,
        "tie_kept_local_ids": report.ties,
        "running_kept_local_ids": report.running,
        "left_out_ids": report.left_out,
        "skipped_dependencies": report.skipped_edges,
        "updated": len(report.updated),
        "updated_issues": [
            {"id": task_id, **({"changes": changes} if changes else {})}
            for task_id, changes in report.updated
        ],
    }
    return body | {name: value for name, value in optional.items() if value}


def _tell(call: Call, report: Report, source: str, *, rehearse: bool) -> None:
    """Tell what an import did, as lines on standard error."""
    verb = "Would import" if rehearse else "Imported"
    call.warn(
        f"{verb} {len(report.ids)} issues ({report.new} new, {len(report.updated)} updated)"
        f" and {report.memories} memories from {source}"
    )
    for what, ids in (
        ("Left alone, older than what is here (--allow-stale takes them)", report.stale),
        ("Left alone, as old as what is here (--allow-stale takes them)", report.ties),
        ("Left alone, a supervisor runs it right now", report.running),
        ("Left out, templates and wisps", report.left_out),
        ("Skipped dependencies", report.skipped_edges),
        ("Updated", [f"{task_id} ({changes})" for task_id, changes in report.updated]),
    ):
        if ids:
            call.warn(f"{what}: {', '.join(ids)}")
    if report.duplicates:
        call.warn(f"Skipped {report.duplicates} with the title of an open issue")


EXPORT = Verb(
    run=_export,
    usage="bd export [flags]",
    about="Export issues to JSONL format",
    flags=(
        Flag("output", short="o", help="Output file path (default: stdout)"),
        Flag("all", "switch", help="Include all records (infra, memories)"),
        Flag("include-infra", "switch", help="Include agents, roles, rigs and messages"),
        Flag("include-memories", "switch", help="Include persistent memories"),
        Flag("exclude-owner", "array", help="Leave out issues that this actor created"),
    ),
)
IMPORT = Verb(
    run=_import,
    usage="bd import [file|-] [flags]",
    about="Import issues from a JSONL file or stdin: all of it, or nothing",
    flags=(
        Flag("input", short="i", help="Read JSONL from a specific file"),
        Flag("dry-run", "switch", help="Show what would be imported without importing"),
        Flag("dedup", "switch", help="Skip lines whose title matches an existing open issue"),
        Flag("allow-stale", "switch", help="Import rows even when older than the local issue"),
    ),
    writes=True,
)
