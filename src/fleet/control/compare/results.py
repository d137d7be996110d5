"""How the entries of a comparison stand: each from its receipts, its queue status and its worktree,
and added up by coder and model. Looking changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.tasks.in_progress import InProgress, in_progress
from fleet.control.usage import ENOUGH, is_verified
from fleet.errors import FleetError
from fleet.git.task_branch import leavings_of
from fleet.home import Home
from fleet.queue.protocol import Filter
from fleet.runs import receipt_json
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import Run, all_runs
from fleet.schemas import NeedsHuman, Receipt, Stopped, Task, Usage
from fleet.schemas.comparison import Comparison, Entry, Result, Size, Standing

_NO_RUNS: Mapping[str, InProgress] = MappingProxyType({})


class Seen(Struct, frozen=True, kw_only=True):
    """What there is to be seen of an entry."""

    task: Task | None
    receipts: tuple[Receipt, ...] = ()
    #: Of the latest run that is over, whether or not it has a receipt.
    ending: Ending | None = None
    runs: int = 0
    #: What its run does, while it is in progress.
    doing: str = ""
    reason: str = ""


class Summary(Struct, frozen=True, kw_only=True):
    """All entries of one coder and model. Figures are those of the entries that are over."""

    coder: str
    model: str | None
    entries: int
    over: int
    verified: int
    #: The least and the most, each with the number of entries behind it; None: of none.
    seconds: "Range | None" = None
    tokens: "Range | None" = None
    cost: "Range | None" = None
    lines: "Range | None" = None

    @property
    def verified_rate(self) -> float | None:
        """None of too few: a handful makes no rate."""
        return self.verified / self.over if self.over >= ENOUGH else None


class Range(Struct, frozen=True, kw_only=True):
    """What a figure was, over some entries."""

    of: int
    least: float
    middle: float
    most: float


def results(fleet: Control, comparison: Comparison, *, sizes: bool = True) -> list[Entry]:
    """The entries with how each stands, by the names of their coders and models."""
    ordered = sorted(comparison.entries, key=lambda entry: (entry.label, entry.turn))
    if not comparison.is_open and all(entry.result for entry in ordered):
        return ordered
    ids = tuple(entry.task_id for entry in ordered if entry.task_id)
    tasks = {task.id: task for task in fleet.queue.find(Filter(ids=ids))} if ids else {}
    busy = any(task.status == "in_progress" for task in tasks.values())
    doing = {each.id: each for each in in_progress(fleet)} if busy else _NO_RUNS
    found: list[Entry] = []
    for entry in ordered:
        result = entry.result or result_of(look(fleet.home, tasks.get(entry.task_id), doing))
        if sizes and result.is_over and result.size is None:
            size = size_of(fleet.home, entry.task_id, comparison.commit)
            result = structs.replace(result, size=size)
        found.append(structs.replace(entry, result=result))
    return found


def look(home: Home, task: Task | None, doing: Mapping[str, InProgress] = _NO_RUNS) -> Seen:
    """What the files and the queue tell of an entry."""
    if task is None:
        return Seen(task=None)
    runs = all_runs(home.task(task.id))
    now = doing.get(task.id)
    found = (receipt_json.read(run) for run in runs)
    return Seen(
        task=task,
        receipts=tuple(receipt for receipt in found if receipt is not None),
        ending=next((end for run in reversed(runs) if (end := read_ending(run))), None),
        runs=sum(_began(run) for run in runs),
        doing=now.doing if now else "",
        reason=now.reason if now else "",
    )


def _began(run: Run) -> bool:
    return Path(run.path / "started").exists()


def result_of(seen: Seen) -> Result:
    """What it came to. Pure."""
    standing, why = _standing(seen)
    receipts = seen.receipts
    return Result(
        standing=standing,
        why=why,
        attempts=seen.runs,
        seconds=sum(receipt.seconds for receipt in receipts),
        usage=sum((receipt.usage for receipt in receipts), Usage()),
        cost_usd=sum(receipt.cost or 0.0 for receipt in receipts),
        estimated_usd=sum(receipt.spend.estimated_usd for receipt in receipts),
        # A run that has no receipt told nothing at all.
        unpriced=max(0, seen.runs - sum(r.cost is not None for r in receipts)),
    )


def _standing(seen: Seen) -> tuple[Standing, str]:
    task, ending = seen.task, seen.ending
    last = seen.receipts[-1] if seen.receipts else None
    why = ending.why if ending else ""
    if task is None:
        return "gone", "it is not in the queue any more"
    match task.status:
        case "closed" if last is not None and is_verified(last):
            return "verified", ""
        case "closed" if ending is not None and isinstance(ending.outcome, Stopped):
            return "stopped", why
        case "closed":
            return "closed", task.close_reason
        case "in_progress" if seen.doing == "verifying":
            return "verifying", ""
        case "in_progress":
            return "running", _unusual(seen)
        case "blocked":
            return _blocked(task, ending, last)
        case _:
            return ("again", why) if seen.runs else ("waiting", why)


def _unusual(seen: Seen) -> str:
    if seen.doing in ("", "running"):
        return seen.reason
    return f"{seen.doing}: {seen.reason}".rstrip(": ")


def _blocked(task: Task, ending: Ending | None, last: Receipt | None) -> tuple[Standing, str]:
    if ending is None:
        return "failed", task.notes.strip().rpartition("\n")[2]
    why = ending.why
    if isinstance(ending.outcome, Stopped):
        return "stopped", why
    verdict = last.verdict if last is not None else None
    if verdict is not None and verdict.state == "out_of_scope":
        return "out_of_scope", why.removeprefix("out of scope: ")
    if isinstance(ending.outcome, NeedsHuman) or (
        last and last.claim is None and not ending.counts
    ):
        return "asks", why
    if last is not None and last.claim is not None:
        return "unverified", why.removeprefix("unverified: ")
    return "failed", why


def size_of(home: Home, task_id: str, commit: str) -> Size | None:
    """How much an entry changed; None where nobody can tell."""
    try:
        left = leavings_of(home, task_id) if task_id else None
        tip = left.tip() if left is not None else None
        if left is None or tip is None:
            return None
        files = left.changes(tip, commit)
    except FleetError:
        return None
    return Size(
        files=len(files),
        added=sum(each.added for each in files),
        removed=sum(each.removed for each in files),
    )


def summaries(entries: Sequence[Entry]) -> list[Summary]:
    """By coder and model, by name: so few entries make no ranking. Pure."""
    groups: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.coder, entry.model), []).append(entry)
    return [_summary(coder, model, group) for (coder, model), group in groups.items()]


def _summary(coder: str, model: str | None, group: Sequence[Entry]) -> Summary:
    over = [each.result for each in group if each.result is not None and each.result.is_over]
    began = [result for result in over if result.attempts]
    return Summary(
        coder=coder,
        model=model,
        entries=len(group),
        over=len(over),
        verified=sum(result.standing == "verified" for result in over),
        seconds=_range(result.seconds for result in began),
        tokens=_range(float(result.tokens) for result in began if result.tokens is not None),
        cost=_range(result.cost for result in began if result.cost is not None),
        lines=_range(
            float(result.size.added + result.size.removed)
            for result in began
            if result.size is not None
        ),
    )


def _range(figures: Iterable[float]) -> Range | None:
    found = sorted(figures)
    if not found:
        return None
    half = len(found) // 2
    middle = found[half] if len(found) % 2 else (found[half - 1] + found[half]) / 2
    return Range(of=len(found), least=found[0], middle=middle, most=found[-1])
