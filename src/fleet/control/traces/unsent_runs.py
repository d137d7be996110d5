"""The runs whose spans no receiver has taken yet: `runs/<n>/exported` marks those that were."""

import os
from collections.abc import Iterator
from datetime import datetime

from fleet.control.traces.span_table import TracedRun
from fleet.control.watch.settled_runs import SettledRuns
from fleet.files.atomic_write import write_atomically
from fleet.home import Home
from fleet.runs.run_directory import Run
from fleet.runs.run_id import RunId

#: In the directory of a run: a receiver has taken its spans.
EXPORTED = "exported"


class UnsentRuns:
    """The unsent runs of one home, each found once. Runs that began while [otel] was
    off do not count.
    """

    def __init__(self, home: Home) -> None:
        self._settled = SettledRuns(home, passes_over=is_exported)

    def new(self) -> Iterator[tuple[Run, TracedRun]]:
        """The unsent runs that ended since the last call, each with what its spans say."""
        for run, receipt, ending in self._settled.new():
            spec = run.known_spec()
            named = RunId.parse(spec.id) if spec is not None else None
            # A record that an agent changed puts no span into the trace of another task.
            if spec and spec.trace and named and named.task == run.task_id:
                yield run, TracedRun(id=named, trace=spec.trace, receipt=receipt, ending=ending)


def is_exported(run: Run) -> bool:
    return os.path.lexists(f"{run.path}/{EXPORTED}")


def mark_exported(run: Run, now: datetime) -> None:
    """Not synced: after a power cut the same spans are sent once more."""
    write_atomically(run.path / EXPORTED, f"{now.isoformat()}\n".encode(), durable=False)
