"""Where tokens and money went: the receipts of all runs, added up by coder, model, day and so on.

What a run came to (closed its task, counted as an attempt) is what the settle table recorded in
the run's outcome.json. A cost comes from the CLI, or from tokens and prices where the CLI tells
none; a cost that is not known stays unknown in every sum and is never 0.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from fleet.config import Config
from fleet.control import Control
from fleet.control.budget_status import day_budgets
from fleet.errors import FleetError
from fleet.home import Home
from fleet.queue.protocol import Filter
from fleet.runs import outcome_history, receipt_json
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import all_runs
from fleet.schemas import Price, Receipt, Usage, bears_out, typed
from fleet.schemas.budget import BudgetStatus, Spend
from fleet.spending import prices

By = Literal["coder", "model", "account", "project", "day", "task"]
BYS: tuple[By, ...] = get_args(By)

#: A rate is shown from this many tasks on.
ENOUGH = 5


#: How a run ended, for counting.
RunEndKind = Literal[
    #: The claim holds.
    "accepted",
    #: The claim was refused.
    "rejected",
    #: The agent finished without a claim.
    "unclaimed",
    #: A person has to answer or to approve.
    "asked",
    "stalled",
    #: A limit of the run or a budget.
    "limited",
    #: A limit or an outage of the account.
    "rate_limited",
    "context_full",
    "stopped",
    #: The run broke, or no record says how it ended.
    "failed",
]
_KIND_OF: Mapping[str, RunEndKind] = MappingProxyType(
    {
        "NeedsHuman": "asked",
        "Stalled": "stalled",
        "LimitExceeded": "limited",
        "RateLimited": "rate_limited",
        "ContextFull": "context_full",
        "Stopped": "stopped",
    }
)


class EndedRun(Struct, frozen=True, kw_only=True):
    """A run that is over: what fleet saw of the run, and how the run was settled."""

    receipt: Receipt
    #: None: not settled yet, or the record is damaged.
    ending: Ending | None

    @property
    def closed(self) -> bool:
        """The run's claim holds: the task is closed, or will be once the work has landed."""
        return self.ending is not None and bears_out(self.ending.settlement)

    @property
    def kind(self) -> RunEndKind:
        """How the run ended: exactly one kind for each run."""
        receipt = self.receipt
        if self.closed:
            return "accepted"
        if receipt.outcome != "Finished":
            return _KIND_OF.get(receipt.outcome, "failed")
        if receipt.verdict and (receipt.verdict.findings or receipt.verdict.trespasses):
            return "rejected"
        return "unclaimed" if receipt.claim is None else "asked"

    @property
    def failed_attempt(self) -> bool:
        """The run counted as an attempt and left the task open."""
        return self.ending is not None and self.ending.counts and not self.closed


class Spent(Struct, frozen=True, kw_only=True):
    """What a group of runs used."""

    name: str
    runs: int = 0
    usage: Usage = Usage()
    #: Runs whose CLI told no tokens, or was cut off before it had counted them.
    uncounted: int = 0
    #: The cost that CLIs told, the cost that fleet worked out by tokens and prices where CLIs told
    #: none, the number of runs with such an estimate, and of runs whose cost is not known.
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    estimated: int = 0
    unpriced: int = 0
    #: Runs whose work was verified, as checked and as unchecked: never added. Their tasks are
    #: closed, or wait to land.
    checked: int = 0
    unchecked: int = 0
    #: The part that went into runs without accepted work.
    wasted_runs: int = 0
    wasted_tokens: int = 0
    wasted_usd: float = 0.0

    @property
    def known_usd(self) -> float:
        return self.cost_usd + self.estimated_usd


class CoderRecord(Struct, frozen=True, kw_only=True):
    """How one coder and model did."""

    coder: str
    model: str
    runs: int = 0
    tasks: int = 0
    #: Tasks that were closed as checked, and as unchecked. They are never added: only a check shows
    #: that the work is done.
    checked: int = 0
    unchecked: int = 0
    #: Runs by how they ended (`RunEndKind`): each run counts once.
    accepted: int = 0
    rejected: int = 0
    unclaimed: int = 0
    asked: int = 0
    stalled: int = 0
    limited: int = 0
    rate_limited: int = 0
    context_full: int = 0
    stopped: int = 0
    failed: int = 0
    #: Failed attempts that were followed by another run of the same task.
    retries: int = 0
    tokens: int = 0
    uncounted: int = 0
    #: The known cost, the part of that which is an estimate, and the runs of unknown cost.
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    unpriced: int = 0

    #: Known from ENOUGH tasks on; the cost only where the cost of every run is known. It is that of
    #: all runs but those of tasks that were closed as unchecked.
    checked_rate: float | None = None
    unchecked_rate: float | None = None
    runs_per_task: float | None = None
    cost_per_checked: float | None = None


def ended_runs(fleet: Control, since: datetime | None = None) -> list[EndedRun]:
    """Every run that has a receipt, over all hosts that share the queue; with `since` only runs
    that began since then.
    """
    found = {(run.receipt.task_id, run.receipt.run): run for run in _runs_here(fleet.home)}
    if fleet.is_shared:
        with suppress(FleetError):  # what is here is shown if the queue does not answer
            found = {**_runs_of_hosts(fleet, since), **found}
    return [run for _, run in sorted(found.items()) if since is None or _began(run.receipt, since)]


def _began(receipt: Receipt, since: datetime) -> bool:
    return receipt.started_at is not None and receipt.started_at >= since


def _runs_of_hosts(fleet: Control, since: datetime | None) -> dict[tuple[str, int], EndedRun]:
    """The runs that hosts sent to the queue, by task and number."""
    from fleet.travel.shared_queue import SharedQueue  # only a shared queue needs any of it

    found: dict[tuple[str, int], EndedRun] = {}
    for key, records in SharedQueue(fleet.queue, fleet.config).files.records(since).items():
        with suppress(msgspec.MsgspecError):  # of a later fleet
            receipt = receipt_json.decode(records[receipt_json.FILE])
            ended = records.get(outcome_history.FILE)
            ending = typed.decode(ended, Ending) if ended is not None else None
            found[key] = EndedRun(receipt=receipt, ending=ending)
    return found


def _runs_here(home: Home) -> list[EndedRun]:
    try:
        folders = sorted(path for path in home.tasks.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    return [
        EndedRun(receipt=receipt, ending=read_ending(run))
        for folder in folders
        for run in all_runs(folder)
        if (receipt := receipt_json.read(run)) is not None
    ]


def titles(fleet: Control, runs: Iterable[EndedRun]) -> dict[str, str]:
    """The titles of the runs' tasks, as far as the queue knows the tasks and answers."""
    ids = tuple({run.receipt.task_id for run in runs})
    try:
        found = fleet.queue.find(Filter(ids=ids, include_closed=True)) if ids else ()
    except FleetError:
        return {}
    return {task.id: task.title for task in found}


def spent(runs: Iterable[EndedRun], by: By) -> list[Spent]:
    """What the runs used, in groups: most tokens first, days in their order."""
    groups: dict[str, list[EndedRun]] = {}
    for run in runs:
        groups.setdefault(_NAME[by](run.receipt) or "unknown", []).append(run)
    found = [spent_together(name, group) for name, group in sorted(groups.items())]
    return found if by == "day" else sorted(found, key=lambda group: -group.usage.total)


def spent_together(name: str, runs: Sequence[EndedRun]) -> Spent:
    """What some runs used."""
    receipts = [run.receipt for run in runs]
    wasted = [run.receipt for run in runs if not run.closed]
    return Spent(
        name=name,
        runs=len(receipts),
        usage=sum((receipt.usage for receipt in receipts), Usage()),
        uncounted=sum(_is_uncounted(receipt) for receipt in receipts),
        cost_usd=sum(receipt.cost_usd or 0.0 for receipt in receipts),
        estimated_usd=sum(receipt.spend.estimated_usd for receipt in receipts),
        estimated=sum(r.cost_usd is None and r.estimated_usd is not None for r in receipts),
        unpriced=sum(receipt.spend.unpriced for receipt in receipts),
        checked=sum(run.closed and run.receipt.closed_as == "checked" for run in runs),
        unchecked=sum(run.closed and run.receipt.closed_as == "unchecked" for run in runs),
        wasted_runs=len(wasted),
        wasted_tokens=sum(receipt.usage.total for receipt in wasted),
        wasted_usd=sum(receipt.spend.usd for receipt in wasted),
    )


def price_list(settings: Config) -> dict[str, Price]:
    """The price of a million tokens by pattern of model names: prices of runtime.toml first."""
    own = settings.prices
    listed = {name: price for name, price in prices.list_prices().items() if name not in own}
    return {**own, **listed}


def records(runs: Iterable[EndedRun]) -> list[CoderRecord]:
    """How each coder and model did, in the order of their names."""
    groups: dict[tuple[str, str], list[EndedRun]] = {}
    last: dict[str, int] = {}
    for run in runs:
        receipt = run.receipt
        groups.setdefault((receipt.coder, receipt.model), []).append(run)
        last[receipt.task_id] = max(receipt.run, last.get(receipt.task_id, 0))
    return [_record(coder, model, group, last) for (coder, model), group in sorted(groups.items())]


def _record(coder: str, model: str, group: list[EndedRun], last: Mapping[str, int]) -> CoderRecord:
    """`last` is the number of each task's latest run, of any coder."""
    receipts = [run.receipt for run in group]
    kinds = Counter(run.kind for run in group)
    tasks = len({receipt.task_id for receipt in receipts})
    # Of several runs that closed a task the last one counts.
    closed = {run.receipt.task_id: run.receipt.closed_as for run in group if run.closed}
    checked = sum(state == "checked" for state in closed.values())
    unchecked = len(closed) - checked
    spend = sum((receipt.spend for receipt in receipts), Spend())
    towards = sum((r.spend for r in receipts if closed.get(r.task_id) != "unchecked"), Spend())
    enough = tasks >= ENOUGH
    priced = enough and checked and not towards.unpriced
    return CoderRecord(
        coder=coder,
        model=model,
        runs=len(group),
        tasks=tasks,
        checked=checked,
        unchecked=unchecked,
        accepted=kinds["accepted"],
        rejected=kinds["rejected"],
        unclaimed=kinds["unclaimed"],
        asked=kinds["asked"],
        stalled=kinds["stalled"],
        limited=kinds["limited"],
        rate_limited=kinds["rate_limited"],
        context_full=kinds["context_full"],
        stopped=kinds["stopped"],
        failed=kinds["failed"],
        retries=sum(
            run.failed_attempt and run.receipt.run < last[run.receipt.task_id] for run in group
        ),
        tokens=sum(receipt.usage.total for receipt in receipts),
        uncounted=sum(_is_uncounted(receipt) for receipt in receipts),
        cost_usd=spend.usd,
        estimated_usd=spend.estimated_usd,
        unpriced=spend.unpriced,
        checked_rate=checked / tasks if enough else None,
        unchecked_rate=unchecked / tasks if enough else None,
        runs_per_task=len(group) / tasks if enough else None,
        cost_per_checked=towards.usd / checked if priced else None,
    )


def _is_uncounted(receipt: Receipt) -> bool:
    """The tokens of a run that began are not known, or not all of them."""
    return receipt.started_at is not None and (receipt.partial or not receipt.usage.total)


def _day(receipt: Receipt) -> str:
    return f"{receipt.started_at.astimezone():%Y-%m-%d}" if receipt.started_at else ""


_NAME: Mapping[By, Callable[[Receipt], str]] = MappingProxyType(
    {
        "coder": lambda receipt: receipt.coder,
        "model": lambda receipt: f"{receipt.coder} {receipt.model}".strip(),
        "account": lambda receipt: receipt.account or receipt.coder,
        "project": lambda receipt: receipt.project,
        "day": _day,
        "task": lambda receipt: receipt.task_id,
    }
)


class UsageView(Struct, frozen=True, kw_only=True):
    """What the runs since a moment used, in groups.

    Of a `Spent`: `cost_usd` is what CLIs told, `estimated_usd` what fleet worked out, `unpriced`
    the number of runs of unknown cost, `wasted_*` what went into runs without accepted work.
    """

    as_of: datetime
    since: datetime | None = None
    by: By
    rows: tuple[Spent, ...] = ()
    total: Spent
    #: One row a day, whatever `by` is: for the chart over time.
    days: tuple[Spent, ...] = ()
    budgets: tuple[BudgetStatus, ...] = ()


def read_usage(fleet: Control, by: By, now: datetime, since: datetime | None = None) -> UsageView:
    """What the runs that began since a moment used; None: all runs."""
    runs = ended_runs(fleet, since)
    return UsageView(
        as_of=now,
        since=since,
        by=by,
        rows=tuple(spent(runs, by)),
        total=spent_together("total", runs),
        days=tuple(spent(runs, "day")),
        budgets=tuple(day_budgets(fleet, now)),
    )
