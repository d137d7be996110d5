"""What the runs of a task that are over came to, read again only when the records change."""

from pathlib import Path

from msgspec import Struct

from fleet.control import Control
from fleet.files.safe_read import stamp_of
from fleet.runs import receipt_json
from fleet.runs.outcome_history import FILE, FORGIVEN, history, read_ending, spent_before
from fleet.runs.run_directory import Run, newest_first
from fleet.schemas import Spend, Task
from fleet.schemas.receipt import VerdictState

#: How many tasks are kept; a home that shows more reads some of them again.
_MOST = 4096

_Stamp = tuple[object, ...]


class PastOfTask(Struct, frozen=True, kw_only=True):
    """The runs of a task that are over, for one line."""

    #: The number of the latest run that is over; 0: none is.
    over: int = 0
    attempts: int = 0
    spent: Spend = Spend()
    verdict: VerdictState | None = None
    #: Of the latest run that is over.
    account: str = ""
    coder: str = ""
    model: str = ""


class PastRunsCache:
    """Reads of past runs, kept by what their records look like from outside."""

    def __init__(self, fleet: Control) -> None:
        self._home = fleet.home
        self._kept: dict[str, tuple[_Stamp, PastOfTask]] = {}

    def of(self, task: Task) -> PastOfTask:
        """The past of one task."""
        task_dir = self._home.task(task.id)
        runs = list(newest_first(task_dir))[:2]
        # Endings are decided in order, so the latest two records tell whether anything changed.
        marks = [stamp_of(f"{run.path}/{FILE}") for run in runs]
        stamp = (len(runs), runs[0].number if runs else 0, *marks, stamp_of(task_dir / FORGIVEN))
        kept = self._kept.get(task.id)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        if len(self._kept) >= _MOST:
            self._kept.clear()
        found = past_of(task_dir, runs)
        self._kept[task.id] = (stamp, found)
        return found


def past_of(task_dir: Path, runs: list[Run]) -> PastOfTask:
    """Read the records of a task whose latest runs are these."""
    over = next(((run, end) for run in runs if (end := read_ending(run)) is not None), None)
    if over is None:
        return PastOfTask()
    run, ending = over
    receipt = receipt_json.read(run)
    verdict = receipt.verdict.state if receipt is not None and receipt.verdict else None
    return PastOfTask(
        over=run.number,
        attempts=history(task_dir).attempts,
        spent=spent_before(task_dir),
        verdict=verdict,
        account=ending.account,
        coder=receipt.coder if receipt is not None else "",
        model=receipt.model if receipt is not None else "",
    )
