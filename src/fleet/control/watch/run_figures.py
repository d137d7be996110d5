"""The runs of a home that are over, added up as they end."""

from collections import Counter

from msgspec import Struct

from fleet.control.watch.settled_runs import SettledRuns
from fleet.home import Home
from fleet.schemas import Receipt, bears_out

#: The upper bounds of the classes that a run's seconds are counted in.
SECONDS = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14400.0)


class Durations(Struct):
    """How long runs took: how many were at most as long as each bound, and in all."""

    counts: list[int]
    total: float = 0.0

    def add(self, seconds: float) -> None:
        place = next((n for n, most in enumerate(SECONDS) if seconds <= most), len(SECONDS))
        self.counts[place] += 1
        self.total += seconds


class RunFigures:
    """Sums over all runs that are over, by what a figure is told apart by."""

    def __init__(self, home: Home) -> None:
        #: By coder, model, outcome and verdict.
        self.runs: Counter[tuple[str, str, str, str]] = Counter()
        #: By coder, model and kind of token; and of runs that closed no task.
        self.tokens: Counter[tuple[str, str, str]] = Counter()
        self.lost_tokens: Counter[tuple[str, str]] = Counter()
        #: By coder, model, and who told the cost: the CLI, or fleet's estimate.
        self.dollars: dict[tuple[str, str, str], float] = {}
        self.unknown_costs: Counter[tuple[str, str]] = Counter()
        self.seconds: dict[str, Durations] = {}
        self._settled = SettledRuns(home)

    def update(self) -> None:
        """Add the runs that ended since the last call."""
        for _, receipt, ending in self._settled.new():
            self._add(receipt, closed=bears_out(ending.settlement))

    def _add(self, receipt: Receipt, *, closed: bool) -> None:
        who = (receipt.coder, receipt.model)
        verdict = receipt.verdict.state if receipt.verdict is not None else "none"
        self.runs[*who, receipt.outcome or "unknown", verdict] += 1
        usage = receipt.usage
        for kind in ("input", "cache_read", "cache_write", "output"):
            self.tokens[*who, kind] += getattr(usage, kind)
        if not closed:
            self.lost_tokens[who] += usage.total
        if receipt.cost is None:
            self.unknown_costs[who] += 1
        else:
            key = (*who, "cli" if receipt.cost_usd is not None else "estimated")
            self.dollars[key] = self.dollars.get(key, 0.0) + receipt.cost
        if receipt.seconds is not None:
            empty = Durations([0] * (len(SECONDS) + 1))
            self.seconds.setdefault(receipt.coder, empty).add(receipt.seconds)
