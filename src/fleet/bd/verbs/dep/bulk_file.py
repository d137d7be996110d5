"""bd dep add --file: many edges from JSON lines, all of them or none."""

from pathlib import Path
from typing import Any

import msgspec

from fleet.bd.arguments.positional import readable, reason
from fleet.bd.command import Call, Failure
from fleet.bd.pflag import FlagError
from fleet.bd.verbs.dep import connect, ends, known_type
from fleet.schemas import Task

Edge = tuple[Task, Task, str]


def add_from_file(call: Call, name: str) -> int:
    if call.words:
        raise Failure("--file cannot be used with positional issue IDs", channel="err")
    edges = _edges(call, _text(call, name))
    with call.queue.db.writing():
        for task, target, kind in edges:
            connect(call, task, target, kind)
    if call.json:
        listed = [
            {"issue_id": task.id, "depends_on_id": target.id, "type": kind}
            for task, target, kind in edges
        ]
        call.put({"status": "added", "count": len(edges), "dependencies": listed})
    else:
        call.say(f"✓ Added {len(edges)} dependencies")
    return 0


def _text(call: Call, name: str) -> str:
    if name == "-":
        return readable(call.stdin.read(), "stdin")
    try:
        return readable(Path(name).read_bytes().decode(), name)
    except OSError as error:
        raise Failure(f"open dependency file: open {name}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise Failure(f"{name} is not valid UTF-8: {error.reason} at byte {error.start}") from None


def _edges(call: Call, text: str) -> list[Edge]:
    edges: list[Edge] = []
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            edges.append(_edge(call, line))
        except (Failure, FlagError) as error:
            wrong.append(f"  line {number}: {error}")
    if wrong:
        raise Failure("\n".join(["bulk dependency validation failed:", *wrong]))
    if not edges:
        raise Failure("no dependency edges found")
    return edges


def _edge(call: Call, line: str) -> Edge:
    try:
        row = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise Failure(f"invalid JSON: {error}", channel="err") from None
    source = str(row.get("from") or row.get("issue_id") or "")
    target = str(row.get("to") or row.get("depends_on_id") or "")
    if not source:
        raise Failure("missing from", channel="err")
    if not target:
        raise Failure("missing to", channel="err")
    return (*ends(call, source, target), known_type(str(row.get("type") or "blocks")))
