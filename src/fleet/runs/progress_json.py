"""`runs/<n>/progress.json`: what the supervisor publishes of a live run for other processes."""

from datetime import datetime

from msgspec import Struct

from fleet.files.json_record import JsonRecord
from fleet.runs.run_directory import Run
from fleet.schemas.budget import Spend, spend_of

FILE = "progress.json"


class Progress(Struct, frozen=True, kw_only=True):
    """The content of progress.json."""

    coder: str
    model: str
    events: int = 0
    tool_calls: int = 0
    context_tokens: int = 0
    context_peak: int = 0
    context_window: int = 0
    tokens: int = 0
    #: The cost that the CLI told, and that by tokens and prices while the CLI tells none.
    cost_usd: float | None = None
    estimated_usd: float | None = None
    last_event_at: datetime | None = None
    #: What the agent did last, on one line.
    last_step: str = ""
    #: `Verifying`, or the name of the outcome that fleet stops the run for; empty while it runs.
    doing: str = ""
    #: The rung of the stall rules that the run is on, why, and until when if that is known.
    rung: str = "fine"
    why: str = ""
    until: datetime | None = None
    #: Limits that are nearly used up, like `cost 82 %`.
    near: tuple[str, ...] = ()

    @property
    def spend(self) -> Spend:
        """What the run used so far."""
        return spend_of(tokens=self.tokens, reported=self.cost_usd, estimated=self.estimated_usd)


_RECORD = JsonRecord(Progress)


def write(run: Run, progress: Progress) -> None:
    """Publish the progress. Not durable: another supervisor finds it out by reading the stream."""
    _RECORD.write(run.path / FILE, progress, durable=False)


def read(run: Run) -> Progress | None:
    """What the supervisor last published of a run; None if there is nothing, or a damaged file."""
    return _RECORD.read_or_none(run.path / FILE)
