"""One lease at a time: settled, and the task as its queue shows it then."""

from fleet.errors import FleetError
from fleet.queue.protocol import LeaseLost, Queue
from fleet.schemas import Lease, Settlement, Task


def settle(queue: Queue, lease: Lease, settlement: Settlement) -> LeaseLost | None:
    """End one lease; the error that keeps it from being ended is raised."""
    (answer,) = queue.settle([(lease, settlement)])
    if isinstance(answer, FleetError):
        raise answer
    return answer


def settled(queue: Queue, lease: Lease, settlement: Settlement) -> Task:
    """Settle, and read the task again; a lost lease fails the test."""
    lost = settle(queue, lease, settlement)
    assert not isinstance(lost, LeaseLost), lost
    return queue.get(lease.task.id)
