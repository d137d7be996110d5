"""The runs of other hosts, by the hosts' names."""

from collections.abc import Mapping

from msgspec import Struct

from fleet.control import Control
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.travel.live_lines import LivingRun, living_runs
from fleet.schemas import Task


class RunsElsewhere(Struct, frozen=True, kw_only=True):
    """The names of hosts by their ids, and what they tell of their living runs by task."""

    names: Mapping[str, str] = {}
    living: Mapping[str, LivingRun] = {}

    def host_of(self, task: Task) -> str:
        """The name of the host that holds a task; the host's id if the queue knows no name."""
        owner = task.lease_owner or ""
        return self.names.get(owner, owner)

    def run_of(self, task: Task) -> LivingRun | None:
        found = self.living.get(task.id)
        return found if found is not None and found.host == task.lease_owner else None


def runs_elsewhere(fleet: Control, task_id: str | None = None) -> RunsElsewhere:
    """What other hosts tell of their runs, or of that of one task; nothing on a queue that is not
    shared.
    """
    if not fleet.is_shared:
        return RunsElsewhere()
    queue = fleet.tracker
    names = host_table.names_of_hosts(queue)
    return RunsElsewhere(names=names, living=living_runs(queue, task_id))
