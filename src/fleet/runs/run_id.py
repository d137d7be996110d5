"""The mark of a run: its owner, its task and its fence."""

from fleet.schemas import Lease


def run_id(lease: Lease) -> str:
    """The mark of a run: whose it is, and under which lease it began."""
    return f"{lease.owner}.{lease.task.id}.{lease.fence}"
