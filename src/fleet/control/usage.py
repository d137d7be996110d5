"""Where tokens and money went: every run's receipt, added up by what one asks for.

A cost comes from the CLI, or from tokens and prices where it tells none. One that nobody knows
stays unknown in every sum: it is never nought.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Literal, get_args

from msgspec import Struct

from fleet.home import Home
from fleet.runs import receipt_json
from fleet.runs.run_directory import all_runs
from fleet.schemas import Receipt, Usage

By = Literal["coder", "model", "account", "project", "day", "task"]
BYS: tuple[By, ...] = get_args(By)

#: Outcomes of a run that count as an attempt.
_ATTEMPTS = frozenset({"Finished", "Failed", "Stalled", "LimitExceeded", "Lost"})

#: A rate of fewer runs than this says nothing.
ENOUGH = 5


class Spent(Struct, frozen=True, kw_only=True):
    """What a group of runs used."""

    name: str
    runs: int = 0
    usage: Usage = Usage()
    #: What CLIs told of the cost, what fleet worked out by tokens and prices where they did not,
    #: and how many runs have a cost that nobody knows.
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    estimated: int = 0
    unpriced: int = 0
    #: Of all that, what went into runs that closed nothing.
    wasted_runs: int = 0
    wasted_tokens: int = 0
    wasted_usd: float = 0.0

    @property
    def known_usd(self) -> float:
        return self.cost_usd + self.estimated_usd

    def plus(self, receipt: Receipt) -> "Spent":
        wasted = not is_verified(receipt)
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
    #: Tasks that ended verified, and runs by how else they ended.
    verified: int = 0
    unverified: int = 0
    stalled: int = 0
    limited: int = 0
    failed: int = 0
    #: Runs that failed and were followed by another of the same task.
    retries: int = 0
    tokens: int = 0
    #: What is known of the cost, how much of that is an estimate, and of how many runs it is not.
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    unpriced: int = 0

    @property
    def enough(self) -> bool:
        """There are tasks enough for a rate to mean something."""
        return self.tasks >= ENOUGH

    @property
    def verified_rate(self) -> float | None:
        return self.verified / self.tasks if self.enough else None

    @property
    def runs_per_task(self) -> float | None:
        return self.runs / self.tasks if self.enough else None

    @property
    def cost_per_verified(self) -> float | None:
        """In dollars; None where it is not known, or of too few."""
        known = self.enough and self.verified and not self.unpriced
        return self.cost_usd / self.verified if known else None


def receipts(home: Home, since: datetime | None = None) -> list[Receipt]:
    """Every receipt of this home, or those of runs that began since a moment."""
    try:
        folders = sorted(path for path in home.tasks.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    found = (receipt_json.read(run) for folder in folders for run in all_runs(folder))
    return [
        receipt
        for receipt in found
        if receipt is not None
        and (since is None or (receipt.started_at is not None and receipt.started_at >= since))
    ]


def spent(found: Iterable[Receipt], by: By) -> list[Spent]:
    """What the runs used, by what is asked for: the most first, days in their order."""
    groups: dict[str, Spent] = {}
    for receipt in found:
        name = _NAME[by](receipt) or "unknown"
        groups[name] = groups.get(name, Spent(name=name)).plus(receipt)
    if by == "day":
        return [groups[name] for name in sorted(groups)]
    return sorted(groups.values(), key=lambda group: (-group.usage.total, group.name))


def total_of(rows: Iterable[Spent]) -> Spent:
    """All of them together."""
    total = Spent(name="all")
    for row in rows:
        total = total.with_(row)
    return total


def records(found: Iterable[Receipt]) -> list[Record]:
    """How each coder and model did, by name: so few runs make no ranking."""
    groups: dict[tuple[str, str], list[Receipt]] = {}
    last: dict[str, int] = {}
    for receipt in found:
        groups.setdefault((receipt.coder, receipt.model), []).append(receipt)
        last[receipt.task_id] = max(receipt.run, last.get(receipt.task_id, 0))
    return [_record(coder, model, group, last) for (coder, model), group in sorted(groups.items())]


def is_verified(receipt: Receipt) -> bool:
    """The run's claim was made and believed."""
    judged = receipt.verdict is not None and receipt.verdict.state == "verified"
    return judged and receipt.claim is not None and receipt.outcome == "Finished"


def _is_failure(receipt: Receipt) -> bool:
    """The run counted as an attempt, and not for good: limits, questions and stops do not."""
    return receipt.outcome in _ATTEMPTS and not is_verified(receipt)


def _record(coder: str, model: str, group: list[Receipt], last: Mapping[str, int]) -> Record:
    """`last` is the number of each task's latest run, whoever made it."""
    again = [receipt for receipt in group if receipt.run < last[receipt.task_id]]
    outcomes = [receipt.outcome for receipt in group]
    broken = [receipt for receipt in group if receipt.verdict and receipt.verdict.findings]
    return Record(
        coder=coder,
        model=model,
        runs=len(group),
        tasks=len({receipt.task_id for receipt in group}),
        verified=len({receipt.task_id for receipt in group if is_verified(receipt)}),
        unverified=len(broken),
        stalled=outcomes.count("Stalled"),
        limited=outcomes.count("LimitExceeded"),
        failed=outcomes.count("Failed") + outcomes.count("Lost"),
        retries=sum(map(_is_failure, again)),
        tokens=sum(receipt.usage.total for receipt in group),
        cost_usd=sum(receipt.spend.usd for receipt in group),
        estimated_usd=sum(receipt.spend.estimated_usd for receipt in group),
        unpriced=sum(receipt.spend.unpriced for receipt in group),
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
