"""A task as its queue shows it once a lease on it was settled."""

from fleet.queue.protocol import LeaseLost, Queue
from fleet.schemas import Lease, Settlement, Task


def settled(queue: Queue, lease: Lease, settlement: Settlement) -> Task:
    """Settle, and read the task again; a lost lease fails the test."""
    lost = queue.settle(lease, settlement)
    assert not isinstance(lost, LeaseLost), lost
    return queue.get(lease.task.id)
