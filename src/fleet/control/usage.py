"""Where tokens and money went: the receipts of all runs, added up by coder, model, day and so on.

What a run came to (closed its task, counted as an attempt) is what the settle table recorded in
the run's outcome.json. A cost comes from the CLI, or from tokens and prices where the CLI tells
none; a cost that is not known stays unknown in every sum and is never 0.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args

from msgspec import Struct

from fleet.config import Config
from fleet.home import Home
from fleet.runs import receipt_json
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import all_runs
from fleet.schemas import Closed, Price, Receipt, Usage
from fleet.spending import prices

By = Literal["coder", "model", "account", "project", "day", "task"]
BYS: tuple[By, ...] = get_args(By)

#: A rate is shown from this many tasks on.
ENOUGH = 5


class EndedRun(Struct, frozen=True, kw_only=True):
    """A run that is over: what fleet saw of the run, and how the run was settled."""

    receipt: Receipt
    #: None: not settled yet, or the record is damaged.
    ending: Ending | None

    @property
    def closed(self) -> bool:
        """The run closed its task."""
        return self.ending is not None and isinstance(self.ending.settlement, Closed)

    @property
    def failed_attempt(self) -> bool:
        """The run counted as an attempt and did not close its task."""
        return self.ending is not None and self.ending.counts and not self.closed


class Spent(Struct, frozen=True, kw_only=True):
    """What a group of runs used."""

    name: str
    runs: int = 0
    usage: Usage = Usage()
    #: The cost that CLIs told, the cost that fleet worked out by tokens and prices where CLIs told
    #: none, the number of runs with such an estimate, and of runs whose cost is not known.
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    estimated: int = 0
    unpriced: int = 0
    #: The part that went into runs that closed no task.
    wasted_runs: int = 0
    wasted_tokens: int = 0
    wasted_usd: float = 0.0

    @property
    def known_usd(self) -> float:
        return self.cost_usd + self.estimated_usd

    def plus(self, run: EndedRun) -> "Spent":
        receipt, wasted = run.receipt, not run.closed
        spend = receipt.spend
        return self.with_(
            Spent(
                name=self.name,
                runs=1,
                usage=receipt.usage,
                cost_usd=receipt.cost_usd or 0.0,
                estimated_usd=spend.estimated_usd,
                estimated=int(receipt.cost_usd is None and receipt.estimated_usd is not None),
                unpriced=spend.unpriced,
                wasted_runs=int(wasted),
                wasted_tokens=receipt.usage.total * wasted,
                wasted_usd=spend.usd * wasted,
            )
        )

    def with_(self, other: "Spent") -> "Spent":
        return Spent(
            name=self.name,
            runs=self.runs + other.runs,
            usage=self.usage + other.usage,
            cost_usd=self.cost_usd + other.cost_usd,
            estimated_usd=self.estimated_usd + other.estimated_usd,
            estimated=self.estimated + other.estimated,
            unpriced=self.unpriced + other.unpriced,
            wasted_runs=self.wasted_runs + other.wasted_runs,
            wasted_tokens=self.wasted_tokens + other.wasted_tokens,
            wasted_usd=self.wasted_usd + other.wasted_usd,
        )


class Record(Struct, frozen=True, kw_only=True):
    """How one coder and model did."""

    coder: str
    model: str
    runs: int = 0
    tasks: int = 0
    #: Tasks that were closed as verified, and runs by how else they ended.
    verified: int = 0
    unverified: int = 0
    stalled: int = 0
    limited: int = 0
    failed: int = 0
    #: Failed attempts that were followed by another run of the same task.
    retries: int = 0
    tokens: int = 0
    #: The known cost, the part of that which is an estimate, and the runs of unknown cost.
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    unpriced: int = 0

    @property
    def enough(self) -> bool:
        """There are enough tasks for a rate to mean something."""
        return self.tasks >= ENOUGH

    @property
    def verified_rate(self) -> float | None:
        return self.verified / self.tasks if self.enough else None

    @property
    def runs_per_task(self) -> float | None:
        return self.runs / self.tasks if self.enough else None

    @property
    def cost_per_verified(self) -> float | None:
        """Dollars a verified task; None where a cost is not known, or tasks are too few."""
        known = self.enough and self.verified and not self.unpriced
        return self.cost_usd / self.verified if known else None


def ended_runs(home: Home, since: datetime | None = None) -> list[EndedRun]:
    """Every run of this home that has a receipt; with `since` only those that began since then."""
    try:
        folders = sorted(path for path in home.tasks.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    return [
        EndedRun(receipt=receipt, ending=read_ending(run))
        for folder in folders
        for run in all_runs(folder)
        if (receipt := receipt_json.read(run)) is not None
        and (since is None or (receipt.started_at is not None and receipt.started_at >= since))
    ]


def spent(runs: Iterable[EndedRun], by: By) -> list[Spent]:
    """What the runs used, in groups: most tokens first, days in their order."""
    groups: dict[str, Spent] = {}
    for run in runs:
        name = _NAME[by](run.receipt) or "unknown"
        groups[name] = groups.get(name, Spent(name=name)).plus(run)
    if by == "day":
        return [groups[name] for name in sorted(groups)]
    return sorted(groups.values(), key=lambda group: (-group.usage.total, group.name))


class PriceList(Struct, frozen=True, kw_only=True):
    """The price of a million tokens by pattern of model names."""

    prices: Mapping[str, Price]
    #: The patterns that runtime.toml sets; they go before the list prices.
    own: frozenset[str]
    #: Where the other prices come from.
    source: str


def price_list(settings: Config) -> PriceList:
    """The prices in force: those of runtime.toml first, then the list prices."""
    own = settings.prices
    listed = {name: price for name, price in prices.list_prices().items() if name not in own}
    return PriceList(prices={**own, **listed}, own=frozenset(own), source=prices.SOURCE)


def total_of(rows: Iterable[Spent]) -> Spent:
    """The sum of some groups."""
    total = Spent(name="all")
    for row in rows:
        total = total.with_(row)
    return total


def records(runs: Iterable[EndedRun]) -> list[Record]:
    """How each coder and model did, in the order of their names."""
    groups: dict[tuple[str, str], list[EndedRun]] = {}
    last: dict[str, int] = {}
    for run in runs:
        receipt = run.receipt
        groups.setdefault((receipt.coder, receipt.model), []).append(run)
        last[receipt.task_id] = max(receipt.run, last.get(receipt.task_id, 0))
    return [_record(coder, model, group, last) for (coder, model), group in sorted(groups.items())]


def _record(coder: str, model: str, group: list[EndedRun], last: Mapping[str, int]) -> Record:
    """`last` is the number of each task's latest run, of any coder."""
    receipts = [run.receipt for run in group]
    outcomes = [receipt.outcome for receipt in receipts]
    return Record(
        coder=coder,
        model=model,
        runs=len(group),
        tasks=len({receipt.task_id for receipt in receipts}),
        verified=len({run.receipt.task_id for run in group if run.closed}),
        unverified=sum(bool(receipt.verdict and receipt.verdict.findings) for receipt in receipts),
        stalled=outcomes.count("Stalled"),
        limited=outcomes.count("LimitExceeded"),
        failed=outcomes.count("Failed") + outcomes.count("Lost"),
        retries=sum(
            run.failed_attempt and run.receipt.run < last[run.receipt.task_id] for run in group
        ),
        tokens=sum(receipt.usage.total for receipt in receipts),
        cost_usd=sum(receipt.spend.usd for receipt in receipts),
        estimated_usd=sum(receipt.spend.estimated_usd for receipt in receipts),
        unpriced=sum(receipt.spend.unpriced for receipt in receipts),
    )


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
