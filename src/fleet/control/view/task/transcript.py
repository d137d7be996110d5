"""What an agent said and did, as entries that can be read from any place of the file, both ways."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

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
