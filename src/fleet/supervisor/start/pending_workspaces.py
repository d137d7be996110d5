"""Tasks whose directory is being made ready beside the loop: claimed, and not yet begun.

A supervisor that dies meanwhile leaves a lease without a run, which the next one gives back.
"""

import threading
from collections.abc import Callable, Iterator
from functools import partial

from fleet.schemas import Lease, Stopped
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.start.launch import Ready
from fleet.supervisor.start.workspace import Order, Prepared, prepare


class InPreparation:
    """One task between its claim and its run."""

    def __init__(self, lease: Lease, ready: Ready) -> None:
        self.lease = lease
        self.ready = ready
        #: Why it is not to begin after all; None while it is.
        self.verdict: Stopped | None = None
        self.abandon = threading.Event()
        #: As of a living run: see there.
        self.renewing = False
        self.held_until: float | None = None

    @property
    def task_id(self) -> str:
        return self.lease.task.id


class Preparing:
    """All of them, by task id."""

    def __init__(self, aside: WorkerPool, done: Callable[[InPreparation, Prepared], None]) -> None:
        self._aside = aside
        #: Called in the loop's thread.
        self._done = done
        self._tasks: dict[str, InPreparation] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[InPreparation]:
        return iter(list(self._tasks.values()))

    def get(self, task_id: str) -> InPreparation | None:
        return self._tasks.get(task_id)

    def begin(self, lease: Lease, ready: Ready, order: Order) -> None:
        task = self._tasks[lease.task.id] = InPreparation(lease, ready)
        self._aside.submit(partial(prepare, order, task.abandon), partial(self._finish, task))

    def stop(self, task: InPreparation, why: Stopped) -> None:
        """Do not let it begin. It is settled once nothing of its preparation runs any more."""
        task.verdict = task.verdict or why
        task.abandon.set()

    def _finish(self, task: InPreparation, got: Prepared) -> None:
        del self._tasks[task.task_id]
        self._done(task, got)
