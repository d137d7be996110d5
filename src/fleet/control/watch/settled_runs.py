"""The runs of a home that are over, each found once.

A run that is over does not change: a process that asks again and again pays for what is new.
"""

import os
from collections.abc import Callable, Iterator

from fleet.home import Home
from fleet.runs import receipt_json
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import Run, all_runs
from fleet.schemas import Receipt


class SettledRuns:
    """Finds each settled run of a home once. `passes_over` names runs that are not even read."""

    def __init__(self, home: Home, passes_over: Callable[[Run], bool] | None = None) -> None:
        self._home, self._passes_over = home, passes_over
        self._found: set[tuple[str, int]] = set()
        #: When each task's directory of runs was last changed, as far as it was read.
        self._stamps: dict[str, int] = {}

    def new(self) -> Iterator[tuple[Run, Receipt, Ending]]:
        """The runs that ended since the last call."""
        try:
            names = os.listdir(self._home.tasks)  # noqa: PTH208 - names are enough, and many
        except FileNotFoundError:
            return
        for name in names:
            folder = self._home.tasks / name
            try:
                stamp = (folder / "runs").stat().st_mtime_ns
            except OSError:
                continue
            if self._stamps.get(name) == stamp:
                continue
            over = True
            for run in all_runs(folder):
                key = (name, run.number)
                if key in self._found:
                    continue
                if self._passes_over is None or not self._passes_over(run):
                    receipt, ending = receipt_json.read(run), read_ending(run)
                    if receipt is None or ending is None:
                        over = False  # the run is not settled yet: look again
                        continue
                    yield run, receipt, ending
                self._found.add(key)
            if over:
                self._stamps[name] = stamp
