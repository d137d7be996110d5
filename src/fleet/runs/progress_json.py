"""progress.json: how far a live run is, for other processes to read."""

from datetime import datetime

from msgspec import Struct

FILE = "progress.json"


class Progress(Struct, frozen=True, kw_only=True):
    """What other processes may know of a live run: the content of progress.json."""

    coder: str
    model: str
    events: int = 0
    tool_calls: int = 0
    context_tokens: int = 0
    context_peak: int = 0
    context_window: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    estimated_usd: float | None = None
    last_event_at: datetime | None = None
    #: What fleet is doing about it, beyond letting it run; empty if nothing.
    doing: str = ""
    #: Its place on the ladder, why, and until when if that is known.
    rung: str = "fine"
    why: str = ""
    until: datetime | None = None
    #: Limits that are nearly used up, like `cost 82 %`.
    near: tuple[str, ...] = ()
