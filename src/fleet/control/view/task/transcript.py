"""What an agent said and did: lines of `events.jsonl` as entries of a transcript. Pure."""

from datetime import datetime
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from fleet.schemas import typed
from fleet.schemas.event import ToolCall, ToolResult, call_line, head_line

#: `text`: the agent's words. `thinking`: what it thought. `call`: a tool call, with its result
#: where that has come. `error`: what went wrong in the CLI. `note`: what fleet did. `sign`: a turn
#: of the session itself (begun, compacted, ended). `person`: what a person told the agent.
EntryKind = Literal["text", "thinking", "call", "error", "note", "sign", "person"]


class TranscriptEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened, from one line of `events.jsonl`."""

    #: Where the entry's line begins, in bytes, and which of the things in that line the entry is.
    at: int
    part: int = 0
    kind: EntryKind
    ts: datetime | None = None
    run: int = 0
    #: The whole on one line: what is shown while the entry is folded.
    line: str
    #: The text, or the input of the call as JSON, cut to a bearable length.
    text: str = ""
    cut: bool = False
    #: Of a call: the tool, the id, the result, and whether the call failed or was refused.
    tool: str = ""
    call: str = ""
    result: str = ""
    failed: bool = False
    denied: bool = False


class Transcript(Struct, frozen=True, kw_only=True):
    """A stretch of a task's transcript."""

    task_id: str
    #: The stretch: it begins and ends at the beginning of a line.
    start: int
    end: int
    #: Bytes of whole lines in the file; `end` equal to it: the live end.
    size: int
    #: An agent is at work: more will come.
    live: bool = False
    entries: tuple[TranscriptEntry, ...] = ()


class TranscriptHit(Struct, frozen=True, kw_only=True):
    """A line of the transcript that holds the searched text."""

    at: int
    run: int = 0
    kind: EntryKind
    line: str


class TranscriptHits(Struct, frozen=True, kw_only=True):
    """What a search over the whole transcript found."""

    task_id: str
    wanted: str
    size: int
    hits: tuple[TranscriptHit, ...] = ()
    #: There are more; go on from here.
    next_at: int | None = None


#: Characters of a text, of a call's input and of a result that one entry has.
_LONGEST_TEXT = 4000


class _EventLine(Struct):
    """A line of `events.jsonl`, as far as a transcript shows the line."""

    kind: str = ""
    run: int = 0
    ts: datetime | None = None
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    reason: str | None = None
    model: str | None = None


_LINE = typed.decoder(_EventLine)
_ANY = typed.decoder(dict[str, Any])
#: Events that tell a person nothing by themselves.
_QUIET = frozenset({"other", "usage", "rate_limit_info", "context_pressure", "unknown"})
#: Facts of fleet's own notes that need no name.
_PLAIN_FACTS = frozenset({"outcome", "why", "commands"})
_ERRORS = frozenset({"error", "bad", "rate_limit"})


def tells(raw: bytes) -> bool:
    """The line is one that a person would see; told by the line's head alone."""
    head = raw[:120]
    return not any(b'"kind":"%s"' % kind.encode() in head for kind in _QUIET)


def entries_of(at: int, raw: bytes) -> list[TranscriptEntry]:
    """What one line of events tells a person."""
    if not raw.strip():
        return []
    try:
        line = _LINE.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = raw[:_LONGEST_TEXT].decode(errors="replace")
        return [TranscriptEntry(at=at, kind="error", line=head_line(text), text=text)]
    if line.kind.startswith("fleet_"):
        return [_note(at, line, raw)]
    parts: list[TranscriptEntry] = []
    for call in line.calls:
        parts.append(_call(at, len(parts), line, call))
    for result in line.results:
        parts.append(_result(at, len(parts), line, result))
    if parts or line.kind in _QUIET:
        return parts
    text, cut = line.text[:_LONGEST_TEXT], len(line.text) > _LONGEST_TEXT
    kind, words = _kind_of(line)
    return [
        TranscriptEntry(
            at=at, kind=kind, ts=line.ts, run=line.run, line=words, text=text, cut=cut,
            failed=kind == "error",
        )
    ]  # fmt: skip


def _kind_of(line: _EventLine) -> tuple[EntryKind, str]:
    words = head_line(line.text)[:_LONGEST_TEXT]
    match line.kind:
        case "assistant_text" | "result":
            return "text", words
        case "thinking":
            return "thinking", words
        case kind if kind in _ERRORS:
            return "error", f"{kind.replace('_', ' ')}: {words or line.reason or ''}"
        case kind:
            told = words or line.model or ""
            return "sign", f"{kind.replace('_', ' ')}{f': {told}' if told else ''}"


def _call(at: int, part: int, line: _EventLine, call: ToolCall) -> TranscriptEntry:
    text = msgspec.json.format(msgspec.json.encode(call.input), indent=2).decode()
    return TranscriptEntry(
        at=at, part=part, kind="call", ts=line.ts, run=line.run,
        line=call_line(call.name, call.input)[:_LONGEST_TEXT],
        text=text[:_LONGEST_TEXT], cut=len(text) > _LONGEST_TEXT, tool=call.name, call=call.id,
    )  # fmt: skip


def _result(at: int, part: int, line: _EventLine, result: ToolResult) -> TranscriptEntry:
    return TranscriptEntry(
        at=at, part=part, kind="call", ts=line.ts, run=line.run,
        line=head_line(result.text)[:_LONGEST_TEXT], call=result.id,
        result=result.text[:_LONGEST_TEXT], failed=result.is_error, denied=result.denied,
    )  # fmt: skip


def _note(at: int, line: _EventLine, raw: bytes) -> TranscriptEntry:
    """A note of fleet's own: name and facts."""
    facts = {
        name: value
        for name, value in _ANY.decode(raw).items()
        if name not in ("run", "kind", "ts", "at") and value not in ("", None, [])
    }
    what = line.kind.removeprefix("fleet_").replace("_", " ")
    told = ", ".join(
        _plain(value) if name in _PLAIN_FACTS else f"{name} {_plain(value)}"
        for name, value in facts.items()
    )
    text = msgspec.json.format(msgspec.json.encode(facts), indent=2).decode()[:_LONGEST_TEXT]
    words = f"fleet: {what}" + (f": {told}" if told else "")
    return TranscriptEntry(
        at=at, kind="note", ts=line.ts, run=line.run, line=words[:_LONGEST_TEXT], text=text
    )


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(each) for each in cast("list[object]", value))
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return ", ".join(f"{name} {_plain(each)}" for name, each in pairs)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def joined(entries: list[TranscriptEntry]) -> tuple[TranscriptEntry, ...]:
    """Results put into the entries of their calls, where those are here."""
    calls = {entry.call: n for n, entry in enumerate(entries) if entry.tool and entry.call}
    joined: list[TranscriptEntry | None] = list(entries)
    for number, entry in enumerate(entries):
        to = calls.get(entry.call, number) if entry.call and not entry.tool else number
        call = joined[to]
        if to == number or call is None:
            continue
        joined[to] = msgspec.structs.replace(
            call, result=entry.result, failed=entry.failed, denied=entry.denied
        )
        joined[number] = None
    return tuple(entry for entry in joined if entry is not None)
