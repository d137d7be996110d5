"""How the entries of a comparison stand, by receipts, queue status and clone, what each changed,
and the figures added up by coder and model. Read only.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from types import MappingProxyType

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.tasks.in_progress import InProgress, in_progress
from fleet.control.usage import ENOUGH
from fleet.errors import FleetError
from fleet.git.clone.task_work import TaskWork, task_work
from fleet.home import Home
from fleet.queue.protocol import Filter
from fleet.runs import receipt_json
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import all_runs, latest_run
from fleet.schemas import Closed, FileChange, NeedsHuman, Receipt, Stopped, Task, Usage
from fleet.schemas.budget import Spend
from fleet.schemas.comparison import Comparison, Entry, EntryStanding, Result, Size
from fleet.schemas.shown_text import first_line


class EntryDiff(Struct, frozen=True, kw_only=True):
    """What one entry changed."""

    entry: Entry
    files: tuple[FileChange, ...] = ()
    patch: str = ""
    #: Why the changes are not known; empty if they are.
    trouble: str = ""

    @property
    def name(self) -> str:
        return f"{self.entry.task_id} {self.entry.label}"

    @property
    def size(self) -> Size | None:
        if self.trouble:
            return None
        return Size(
            files=len(self.files),
            added=sum(file.added for file in self.files),
            removed=sum(file.removed for file in self.files),
        )


def entry_work(home: Home, task_id: str) -> TaskWork | None:
    """The work of an entry: the accepted tree, if its last run has one. None: the entry has neither
    a clone nor a branch. Raises FleetError.
    """
    run = latest_run(home.task(task_id))
    receipt = receipt_json.read(run) if run is not None else None
    return task_work(home, task_id, accepted=receipt.accepted_tree if receipt is not None else "")


def diff_of(
    fleet: Control, comparison: Comparison, entry: Entry, *, patch: bool = True
) -> EntryDiff:
    """The changed files of one entry, and their text unless `patch` is False."""
    gone = EntryDiff(entry=entry, trouble="its clone and its branch are gone")
    if not entry.task_id:
        return gone
    try:
        work = entry_work(fleet.home, entry.task_id)
        if work is None:
            return gone
        text = work.patch(comparison.commit) if patch else b""
        return EntryDiff(
            entry=entry,
            files=tuple(work.changes(comparison.commit)),
            patch=text.decode(errors="replace"),
        )
    except (FleetError, OSError) as error:
        return EntryDiff(entry=entry, trouble=str(error))


_NO_RUNS: Mapping[str, InProgress] = MappingProxyType({})


class EntryFacts(Struct, frozen=True, kw_only=True):
    """What the queue and the files hold of an entry."""

    #: None: the task was deleted.
    task: Task | None
    receipts: tuple[Receipt, ...] = ()
    #: The end of the latest run that is over, with or without a receipt.
    ending: Ending | None = None
    runs: int = 0
    #: The run that goes on, while the task is in progress, and the time now.
    running: InProgress | None = None
    now: datetime | None = None

    @property
    def doing(self) -> str:
        return self.running.doing if self.running else ""

    @property
    def seconds_so_far(self) -> float | None:
        """How long the run that goes on has lasted; None: none goes on."""
        began = self.running.started_at if self.running else None
        return (self.now - began).total_seconds() if began and self.now else None


class Summary(Struct, frozen=True, kw_only=True):
    """All entries of one coder and model. The figures are of the entries that are over."""

    coder: str
    model: str | None
    entries: int
    over: int
    #: Entries that were closed as checked, and as unchecked: never added.
    checked: int
    unchecked: int
    #: None: no entry has the figure.
    seconds: "Range | None" = None
    tokens: "Range | None" = None
    cost: "Range | None" = None
    lines: "Range | None" = None
    #: The shares of both; None if too few are over.
    checked_rate: float | None = None
    unchecked_rate: float | None = None


class Range(Struct, frozen=True, kw_only=True):
    """The least, the median and the most of a figure, over `of` entries."""

    of: int
    least: float
    middle: float
    most: float


def results(fleet: Control, comparison: Comparison, *, sizes: bool = True) -> list[Entry]:
    """The entries with their results, by coder and model; `sizes=False` starts no git."""
    ordered = sorted(comparison.entries, key=lambda entry: (entry.label, entry.turn))
    if not comparison.is_open and all(entry.result for entry in ordered):
        return ordered
    ids = tuple(entry.task_id for entry in ordered if entry.task_id)
    tasks = {task.id: task for task in fleet.queue.find(Filter(ids=ids))} if ids else {}
    busy = any(task.status == "in_progress" for task in tasks.values())
    doing = {each.id: each for each in in_progress(fleet)} if busy else _NO_RUNS
    found: list[Entry] = []
    for entry in ordered:
        result = entry.result or result_of(_facts(fleet.home, tasks.get(entry.task_id), doing))
        if sizes and result.is_over and result.size is None:
            size = diff_of(fleet, comparison, entry, patch=False).size
            result = structs.replace(result, size=size)
        found.append(structs.replace(entry, result=result))
    return found


def _facts(home: Home, task: Task | None, doing: Mapping[str, InProgress]) -> EntryFacts:
    if task is None:
        return EntryFacts(task=None)
    runs = all_runs(home.task(task.id))
    found = (receipt_json.read(run) for run in runs)
    return EntryFacts(
        task=task,
        receipts=tuple(receipt for receipt in found if receipt is not None),
        ending=next((end for run in reversed(runs) if (end := read_ending(run))), None),
        runs=sum((run.path / "started").exists() for run in runs),
        running=doing.get(task.id),
        now=datetime.now(UTC),
    )


def result_of(facts: EntryFacts) -> Result:
    """The result of an entry over all runs. Pure."""
    standing, why = _standing(facts)
    receipts, so_far, lasted = facts.receipts, facts.running, facts.seconds_so_far
    spent = sum((receipt.spend for receipt in receipts), Spend())
    if so_far is not None and lasted is not None:
        spent += so_far.progress.spend
    known = [receipt.seconds for receipt in receipts if receipt.seconds is not None]
    counted = [receipt for receipt in receipts if receipt.usage.total and not receipt.partial]
    # Nothing is known of a run without a receipt, unless the run goes on.
    silent = max(0, facts.runs - len(receipts) - (lasted is not None))
    return Result(
        standing=standing,
        why=why,
        attempts=facts.runs,
        seconds=sum(known) + (lasted or 0.0),
        untimed=len(receipts) - len(known) + silent,
        usage=sum((receipt.usage for receipt in receipts), Usage()),
        uncounted=len(receipts) - len(counted) + silent,
        tokens_so_far=so_far.progress.tokens if so_far is not None and lasted is not None else 0,
        cost_usd=spent.usd,
        estimated_usd=spent.estimated_usd,
        unpriced=spent.unpriced + silent,
    )


def _standing(facts: EntryFacts) -> tuple[EntryStanding, str]:
    task, ending = facts.task, facts.ending
    last = facts.receipts[-1] if facts.receipts else None
    why = ending.why if ending else ""
    if task is None:
        return "gone", "the task was deleted"
    match task.status:
        case "closed" if ending is not None and isinstance(ending.settlement, Closed):
            return last.closed_as if last is not None else "unchecked", ""
        case "closed" if ending is not None and isinstance(ending.outcome, Stopped):
            return "stopped", why
        case "closed":
            return "closed", task.close_reason
        case "in_progress" if facts.doing == "verifying":
            return "verifying", ""
        case "in_progress":
            return "running", _progress_note(facts)
        case "blocked":
            return _blocked(task, ending, last)
        case _:
            return ("again", why) if facts.runs else ("waiting", why)


def _progress_note(facts: EntryFacts) -> str:
    reason = facts.running.reason if facts.running else ""
    return reason if facts.doing in ("", "running") else f"{facts.doing}: {reason}".rstrip(": ")


def _blocked(task: Task, ending: Ending | None, last: Receipt | None) -> tuple[EntryStanding, str]:
    if ending is None:
        return "failed", first_line(task.why_blocked)
    why = ending.why
    if isinstance(ending.outcome, Stopped):
        return "stopped", why
    verdict = last.verdict if last is not None else None
    if verdict is not None and verdict.state == "out of scope":
        return "out of scope", "; ".join(f"{each.rule}: {each.what}" for each in verdict.trespasses)
    if isinstance(ending.outcome, NeedsHuman) or (
        last and last.claim is None and not ending.counts
    ):
        return "asks", why
    if last is not None and last.claim is not None:
        return "rejected", why
    return "failed", why


def summaries(entries: Sequence[Entry]) -> list[Summary]:
    """The figures by coder and model, in the order of the entries. Pure."""
    groups: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.coder, entry.model), []).append(entry)
    return [_summary(coder, model, group) for (coder, model), group in groups.items()]


def _summary(coder: str, model: str | None, group: Sequence[Entry]) -> Summary:
    over = [each.result for each in group if each.result is not None and each.result.is_over]
    began = [result for result in over if result.attempts]
    checked = sum(result.standing == "checked" for result in over)
    unchecked = sum(result.standing == "unchecked" for result in over)
    enough = len(over) >= ENOUGH
    return Summary(
        coder=coder,
        model=model,
        entries=len(group),
        over=len(over),
        checked=checked,
        unchecked=unchecked,
        checked_rate=checked / len(over) if enough else None,
        unchecked_rate=unchecked / len(over) if enough else None,
        # A figure that is not known whole is left out; the number of entries behind it says so.
        seconds=_range(result.seconds for result in began if not result.untimed),
        tokens=_range(
            float(result.tokens)
            for result in began
            if result.tokens is not None and not result.uncounted
        ),
        cost=_range(result.cost for result in began if result.cost is not None),
        lines=_range(
            float(result.size.added + result.size.removed)
            for result in began
            if result.size is not None
        ),
    )


def _range(figures: Iterable[float]) -> Range | None:
    found = list(figures)
    if not found:
        return None
    return Range(of=len(found), least=min(found), middle=median(found), most=max(found))
