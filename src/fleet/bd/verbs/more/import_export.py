"""bd export and bd import: JSON lines that the real bd writes and reads as well."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from fleet.bd.arguments.positional import at_most, reason
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output import jsonl
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker import comments
from fleet.queue.sql.tracker.import_export import Outgoing, Report, bring_in, everything

_INFRA = ("agent", "role", "rig", "message")


def _export(call: Call) -> int:
    call.lacks("scrub")
    name = call.line.text("output")
    if not name:
        _write(call, lambda line: call.say(line.decode()))
        return 0
    try:
        with _new_file(Path(name)) as write:
            issues, memories = _write(call, write)
    except OSError as error:
        raise Failure(f"failed to write {name}: {reason(error)}", channel="err") from None
    also = f" and {memories} memories" if memories else ""
    call.warn(f"Exported {issues} issues{also} to {name}")
    return 0


def _write(call: Call, write: Callable[[bytes], object]) -> tuple[int, int]:
    """Write all that is wanted, and count the issues and the memories."""
    issues = 0
    for row in everything(call.queue):
        if _wanted(call, row):
            write(jsonl.issue_line(row))
            issues += 1
    if not (call.line.switch("all") or call.line.switch("include-memories")):
        return issues, 0
    memories = comments.memories(call.queue)
    for key, value in memories.items():
        write(jsonl.memory_line(key, value))
    return issues, len(memories)


def _wanted(call: Call, row: Outgoing) -> bool:
    task, line = row.task, call.line
    if task.created_by and task.created_by in line.list("exclude-owner"):
        return False
    infra = line.switch("all") or line.switch("include-infra")
    return infra or task.issue_type not in _INFRA


@contextmanager
def _new_file(path: Path) -> Generator[Callable[[bytes], object]]:
    """A file that is there only once it is whole."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            yield lambda line: file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _import(call: Call) -> int:
    words = at_most(call, 1)
    name = words[0] if words else call.line.text("input")
    if not name:
        raise Failure(
            "no file given: name one, or use 'bd import -' to import what you piped",
            channel="err",
        )
    source = "stdin" if name == "-" else name
    rehearse = call.line.switch("dry-run")
    with _opened(call, name) as lines:
        report = bring_in(
            call.queue,
            jsonl.read_lines(lines, call.now),
            allow_stale=call.line.switch("allow-stale"),
            dedup=call.line.switch("dedup"),
            rehearse=rehearse,
        )
    if call.json:
        call.put(_shape(report, source, rehearse=rehearse))
    else:
        _tell(call, report, source, rehearse=rehearse)
    return 0


@contextmanager
def _opened(call: Call, name: str) -> Generator[Iterator[bytes]]:
    if name == "-":
        yield _bytes(call.stdin)
        return
    try:
        with Path(name).open("rb") as file:
            yield iter(file)
    except OSError as error:
        raise Failure(f"cannot read {name}: stat {name}: {reason(error)}") from None


def _bytes(stdin: TextIO) -> Iterator[bytes]:
    """Standard input as it came: what is not UTF-8 in it is then refused by its line."""
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
    notes: list[str] = []
    if report.stale:
        notes.append(f"{len(report.stale)} stale skipped; use --allow-stale to restore older rows")
    if report.duplicates:
        notes.append(f"{report.duplicates} duplicates skipped")
    why = f" ({', '.join(notes)})" if notes else ""
    if rehearse:
        unchanged = len(report.ids) - report.new - len(report.updated)
        call.warn(
            f"Would import {len(report.ids)} issues ({report.new} new,"
            f" {len(report.updated)} updated, {unchanged} unchanged)"
            f" and {report.memories} memories from {source}{why}"
        )
    else:
        also = f" and {report.memories} memories" if report.memories else ""
        call.warn(f"Imported {len(report.ids)} issues{also} from {source}{why}")
    if report.updated and not rehearse:
        call.warn(f"Updated {len(report.updated)} existing issue(s):")
        for task_id, changes in report.updated:
            call.warn(f"  {task_id}: {changes}")
    if report.ties:
        call.warn(
            f"Kept local state for {len(report.ties)} issue(s) with the same updated_at but"
            f" different content (use --allow-stale to overwrite): {', '.join(report.ties)}"
        )
    if report.running:
        call.warn(f"Kept local state of what runs right now: {', '.join(report.running)}")
    if report.left_out:
        call.warn(
            f"Left out templates and wisps, which fleet has none of: {', '.join(report.left_out)}"
        )
    for skipped in report.skipped_edges:
        call.warn(f"Skipped dependency: {skipped}")


EXPORT = Verb(
    run=_export,
    usage="bd export [flags]",
    about="Export issues to JSONL format",
    flags=(
        Flag("output", short="o", help="Output file path (default: stdout)"),
        Flag("all", "switch", help="Include all records (infra, templates, memories)"),
        Flag("include-infra", "switch", help="Include agents, roles, rigs and messages"),
        Flag("include-memories", "switch", help="Include persistent memories"),
        Flag("exclude-owner", "array", help="Exclude issues created by this identity"),
        Flag("scrub", "switch", help="Needs the real bd"),
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
