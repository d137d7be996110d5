"""A run that the supervisor follows: record, keeper, and what the supervisor
publishes of the run.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.coders.base import Coder
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run, RunSpec
from fleet.schemas import Task
from fleet.schemas.event import step_line
from fleet.settlement.run_record import NO_SPEC, RunRecord
from fleet.watchdog.stall_rules import FINE, StallState

if TYPE_CHECKING:
    from fleet.processes.keeper_client import Keeper


class Health(Struct):
    """What the watchdog found last, for people."""

    stall: StallState = FINE
    #: When the limit ends that the agent waits for; None: it waits for none.
    waits_until: datetime | None = None
    near_limits: tuple[str, ...] = ()


class RunMemory(Struct):
    """What the supervisor remembers of a run from one look to the next."""

    #: When the agent was told to end its turn, as no person had answered its question; on the
    #: monotonic clock. None: it was not told.
    parked_at: float | None = None
    #: The model has answered, so the account works.
    answered: bool = False
    #: The stamp of the messages that were noted; 0: none were.
    messages_stamp: int = 0
    published: Progress | None = None


class ActiveRun(RunRecord):
    """A run between start and settlement."""

    def __init__(
        self,
        task: Task,
        run: Run,
        coder: Coder,
        *,
        env: Mapping[str, str],
        spec: RunSpec = NO_SPEC,
        adopted: bool = False,
    ) -> None:
        super().__init__(task, run, coder, env=env, spec=spec, adopted=adopted)
        #: None where no process could be started.
        self.keeper: Keeper | None = None
        self.health = Health()
        self.memory = RunMemory()

    def printed(self) -> int:
        """Bytes on stdout and stderr."""
        return sum(_size(path) for path in (self.run.stdout, self.run.stderr))

    def publish(self, doing: str) -> None:
        """Write `progress.json`, if something changed. `doing` is what fleet does about the run."""
        totals, health = self.totals, self.health
        progress = Progress(
            coder=self.coder.name,
            model=totals.model or self.coder.model,
            events=totals.events,
            tool_calls=totals.tools.count,
            context_tokens=totals.tokens.context_tokens or 0,
            context_peak=totals.tokens.context_peak,
            context_window=self.context_window,
            tokens=totals.tokens.usage.total,
            cost_usd=totals.tokens.cost_usd,
            estimated_usd=self.estimated_usd,
            last_event_at=self.stream.last_event_at,
            last_step=step_line(step) if (step := self.stream.last_step) else "",
            doing=doing,
            rung=health.stall.rung,
            why=health.stall.why,
            until=health.waits_until,
            near=health.near_limits,
        )
        if progress != self.memory.published:
            progress_json.write(self.run, progress)
            self.memory.published = progress

    @property
    def context_window(self) -> int:
        """Tokens that the agent's context holds, by the stream, or else by the coder."""
        return self.totals.tokens.context_window or self.coder.context_limit


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
