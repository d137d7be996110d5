"""The figures of a home as Prometheus reads them. No task is a label: there is no end of tasks."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from fleet import __version__
from fleet.accounts.account_state import held_logins
from fleet.accounts.account_store import open_accounts
from fleet.control import Control
from fleet.control.accounts import accounts_now
from fleet.control.notify.notify_status import notify_status
from fleet.control.view.now import Now
from fleet.control.view.read_now import NowReader
from fleet.control.watch.settled_runs import SettledRuns
from fleet.errors import BadInput
from fleet.files.atomic_write import write_atomically
from fleet.home.status_file import FILE as STATUS_FILE
from fleet.queue.protocol import Filter
from fleet.schemas import STATUSES, Receipt, Task, bears_out, settings_in
from fleet.schemas.hosts.host import needs_of

Families = Iterator[Metric]
#: How many ready tasks are counted.
_MOST = 10_000
#: What is added up over all runs that are over: the labels of each sum.
_WHO = ("coder", "model")
_RUN_SUMS: Mapping[str, tuple[str, Sequence[str]]] = {
    "fleet_runs": ("Runs that are over.", (*_WHO, "outcome", "verdict")),
    "fleet_tokens": ("Tokens of runs that are over.", (*_WHO, "kind")),
    "fleet_lost_tokens": ("Tokens of runs that closed no task.", _WHO),
    "fleet_cost_dollars": ("Known cost: told by the CLI, or estimated.", (*_WHO, "basis")),
    "fleet_cost_unknown_runs": ("Runs whose cost is not known.", _WHO),
}
#: The upper bounds of the classes that a run's seconds are counted in.
_SECONDS = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 14400.0)


class FleetMetrics(Collector):
    """Reads the home for each scrape, and keeps what was read of runs that are over."""

    def __init__(self, fleet: Control) -> None:
        self._fleet = fleet
        self._view = NowReader(fleet)
        self._settled = SettledRuns(fleet.home)
        #: The sums of each name by their labels; how many runs of each coder took how long, and
        #: how long they took together.
        self._sums = {name: defaultdict[tuple[str, ...], float](float) for name in _RUN_SUMS}
        self._lasted: dict[str, list[int]] = {}
        self._seconds = defaultdict[str, float](float)
        self._now = datetime.now().astimezone()

    def text(self, now: datetime) -> bytes:
        """All figures at a moment."""
        self._now = now
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def write_textfile(self, path: Path, now: datetime) -> None:
        """Replace the file that node_exporter's textfile collector reads, in one step; readable for
        node_exporter, which is another user.
        """
        if path.suffix != ".prom":
            raise BadInput(f"node_exporter reads no {path.name}", hint="Name it so: fleet.prom")
        text = self.text(now)
        try:
            write_atomically(path.absolute(), text, 0o644, durable=False)
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}") from None

    def describe(self) -> list[Metric]:
        """Describe nothing: which figures there are depends on the home, which is read once."""
        return []

    def collect(self) -> Families:
        for _, receipt, ending in self._settled.new():
            self._add(receipt, closed=bears_out(ending.settlement))
        now = self._view.read(self._now)
        yield from self._supervisor(now)
        yield from self._tasks(now)
        yield from self._runs()
        yield from self._limits(now)
        yield from self._telling()

    def _supervisor(self, now: Now) -> Families:
        state = now.supervisor
        build = GaugeMetricFamily("fleet_build_info", "The version of fleet.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        yield _gauge("fleet_supervisor_up", "A supervisor of this home runs.", state.alive)
        yield _gauge("fleet_paused", "No new run begins.", state.paused_since is not None)
        yield _gauge("fleet_queue_up", "The queue answers.", not state.queue_problem)
        yield _gauge("fleet_slots", "Runs that there may be at once.", state.slots)
        try:
            looked = (self._fleet.home.path / STATUS_FILE).stat().st_mtime
        except OSError:
            return
        about = "When the supervisor last published a change of its state."
        yield _gauge("fleet_supervisor_published_timestamp_seconds", about, looked)

    def _tasks(self, now: Now) -> Families:
        tasks = GaugeMetricFamily("fleet_tasks", "Tasks by status.", labels=["status"])
        if not now.supervisor.queue_problem:
            counts = self._fleet.queue.counts()
            for status in (*STATUSES, *sorted(set(counts) - set(STATUSES))):
                tasks.add_metric([status], counts.get(status, 0))
        yield tasks
        ready = self._ready(now)
        yield _gauge("fleet_ready_tasks", "Tasks that could begin now.", len(ready))
        oldest = min((task.created_at for task in ready), default=None)
        about = "How long ago the oldest of them was created."
        yield _gauge("fleet_ready_oldest_seconds", about, self._since(oldest))
        yield self._placeable(ready)
        about = "Tasks that wait for a person."
        yield _gauge("fleet_needs_person_tasks", about, now.counts.needs_you)
        asked = [row for row in now.rows if row.question]
        yield _gauge("fleet_questions_open", "Questions of agents that wait.", len(asked))
        oldest = min((row.since for row in asked if row.since is not None), default=None)
        about = "How long the oldest question waits."
        yield _gauge("fleet_question_oldest_seconds", about, self._since(oldest))
        active = GaugeMetricFamily(
            "fleet_runs_active", "Agents at work.", labels=["coder", "account"]
        )
        counted: dict[tuple[str, str], int] = {}
        for row in now.rows:
            if row.run is not None and row.group == "running":
                key = (row.coder, row.account)
                counted[key] = counted.get(key, 0) + 1
        for (coder, account), count in sorted(counted.items()):
            active.add_metric([coder, account], count)
        yield active

    def _placeable(self, ready: Sequence[Task]) -> Metric:
        """What a machine that joins the hosts could begin: an autoscaler follows this."""
        counted = Counter({"": 0})
        for task in ready:
            needs = needs_of(settings_in(task.metadata))
            bound = any(need.startswith(("host:", "home:")) for need in needs)
            put_off = task.not_before is not None and task.not_before > self._now
            if not bound and not put_off:
                labels = (need.removeprefix("label:") for need in needs if "label:" in need)
                counted[",".join(sorted(labels))] += 1
        about = "Ready tasks that are bound to no host, by the labels that they need."
        found = GaugeMetricFamily("fleet_placeable_tasks", about, labels=["labels"])
        for labels, count in sorted(counted.items()):
            found.add_metric([labels], count)
        return found

    def _ready(self, now: Now) -> Sequence[Task]:
        """The tasks that a supervisor with free slots would begin."""
        if now.supervisor.queue_problem:
            return ()
        return self._fleet.queue.find(Filter(ready=True, limit=_MOST))

    def _add(self, receipt: Receipt, *, closed: bool) -> None:
        """Add a run that ended since the last look."""
        sums, who, usage = self._sums, (receipt.coder, receipt.model), receipt.usage
        verdict = receipt.verdict.state if receipt.verdict is not None else "none"
        sums["fleet_runs"][*who, receipt.outcome or "unknown", verdict] += 1
        for kind in ("input", "cache_read", "cache_write", "output"):
            sums["fleet_tokens"][*who, kind] += getattr(usage, kind)
        if not closed:
            sums["fleet_lost_tokens"][who] += usage.total
        if receipt.cost is None:
            sums["fleet_cost_unknown_runs"][who] += 1
        else:
            basis = "cli" if receipt.cost_usd is not None else "estimated"
            sums["fleet_cost_dollars"][*who, basis] += receipt.cost
        if receipt.seconds is not None:
            classes = self._lasted.setdefault(receipt.coder, [0] * (len(_SECONDS) + 1))
            classes[bisect_left(_SECONDS, receipt.seconds)] += 1
            self._seconds[receipt.coder] += receipt.seconds

    def _runs(self) -> Families:
        for name, (about, labels) in _RUN_SUMS.items():
            yield _counter(name, about, labels, self._sums[name])
        lasted = HistogramMetricFamily(
            "fleet_run_duration_seconds", "How long runs took.", labels=["coder"]
        )
        bounds = [*map(str, _SECONDS), "+Inf"]
        for coder, classes in sorted(self._lasted.items()):
            # Each class of Prometheus includes all smaller ones.
            buckets = list(zip(bounds, map(float, accumulate(classes)), strict=True))
            lasted.add_metric([coder], buckets, self._seconds[coder])
        yield lasted

    def _limits(self, now: Now) -> Families:
        labels = ["account", "window"]
        used = GaugeMetricFamily(
            "fleet_account_window_used_ratio", "How much of a limit is used.", labels=labels
        )
        resets = GaugeMetricFamily(
            "fleet_account_window_reset_timestamp_seconds", "When a limit resets.", labels=labels
        )
        for account in accounts_now(self._fleet, self._now):
            for window in account.windows:
                key = [account.account.name, str(window.kind)]
                if window.used_percent is not None:
                    used.add_metric(key, window.used_percent / 100)
                if window.resets_at is not None:
                    resets.add_metric(key, window.resets_at.timestamp())
        yield used
        yield resets
        budgets = GaugeMetricFamily(
            "fleet_budget_used_ratio",
            "How much of a day's budget is spent.",
            labels=["scope", "name"],
        )
        for budget in now.supervisor.budgets:
            budgets.add_metric([budget.scope, budget.name], budget.spent.share_of(budget.budget))
        yield budgets
        states = open_accounts(self._fleet.home.path).states
        held = GaugeMetricFamily(
            "fleet_login_held", "Logins that get no work.", labels=["account", "name", "cause"]
        )
        for each in held_logins(states, self._now):
            held.add_metric([each.account, each.name, each.cause], 1)
        yield held

    def _telling(self) -> Families:
        waiting = GaugeMetricFamily(
            "fleet_outbox_waiting", "Messages that a channel has not taken yet.", labels=["channel"]
        )
        oldest = GaugeMetricFamily(
            "fleet_outbox_oldest_seconds", "How long the oldest of them waits.", labels=["channel"]
        )
        totals: dict[tuple[str, ...], float] = {}
        for each in notify_status(self._fleet).channels:
            waiting.add_metric([each.channel], each.waiting)
            oldest.add_metric([each.channel], self._since(each.oldest))
            totals |= {(each.channel, "sent"): each.sent_total}
            totals |= {(each.channel, "dropped"): each.dropped_total}
        about = "Messages that a channel took, or that were given up."
        yield _counter("fleet_notifications", about, ("channel", "result"), totals)
        yield from (waiting, oldest)

    def _since(self, moment: datetime | None) -> float:
        return max(0.0, (self._now - moment).total_seconds()) if moment is not None else 0.0


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=float(value))


def _counter(
    name: str, about: str, labels: Sequence[str], sums: Mapping[tuple[str, ...], float]
) -> Metric:
    """Sums by their labels, in an order that stays."""
    family = CounterMetricFamily(name, about, labels=labels)
    for key, value in sorted(sums.items()):
        family.add_metric(key, value)
    return family
