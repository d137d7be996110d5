"""What runs spend, told to the other hosts and heard from them: a day's budget is for all."""

from typing import TYPE_CHECKING

from fleet.queue.sql.hosts.shared_news import RunSpend
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.hosts.no_hosts import NoHosts

if TYPE_CHECKING:
    from fleet.supervisor.hosts.heartbeat import Heartbeat
    from fleet.supervisor.state import SupervisorState


def tell_spending(state: "SupervisorState", day: str, entry: SpendEntry) -> None:
    """Tell the other hosts what a run spent that ended."""
    heartbeat = state.heartbeat
    if not isinstance(heartbeat, NoHosts):
        heartbeat.exchange.spent.append(
            RunSpend(
                task_id=entry.task, run=entry.run, day=day, host=heartbeat.host.id,
                project=entry.project, account=entry.account, spend=entry.spend,
            )
        )  # fmt: skip


def hear_spending(state: "SupervisorState", heartbeat: "Heartbeat") -> None:
    """Count what runs on other hosts spent."""
    while heartbeat.exchange.spent_elsewhere:
        spent = heartbeat.exchange.spent_elsewhere.popleft()
        entry = SpendEntry(
            task=spent.task_id, run=spent.run, project=spent.project, account=spent.account,
            spend=spent.spend,
        )  # fmt: skip
        state.meter.ledger.add_elsewhere(spent.day, entry)
