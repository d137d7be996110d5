"""The real supervisor, which counts its memory: measured_supervisor.py COUNT …

Once as many tasks are done as a count says and it has nothing in hand, it writes what code of fleet
holds in Python's memory to `memory-COUNT` in the home, in bytes.
"""

import gc
import sys
import time
import tracemalloc
from pathlib import Path

import fleet as package
from fleet import control
from fleet.extend import TICK
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.schemas import Closed
from fleet.supervisor.loop import Supervisor
from fleet.supervisor.state import Happening, LandingEnded, TaskSettled

#: An allocation is put down to the code that is this near on the stack.
FRAMES = 8
_SOURCE = f"{Path(package.__file__).parent}/*"


class Measured(Supervisor):
    """Measures while it rests."""

    done = 0
    rests_since = 0.0
    counts = sorted(map(int, sys.argv[1:]))

    def handle(self, event: Happening) -> None:
        super().handle(event)
        match event:
            case TaskSettled(settlement=Closed()) | LandingEnded(closed=True):
                self.done += 1
            case _:
                pass

    def turn(self) -> None:
        super().turn()
        busy = any(duty.busy for duty in self.duties)
        if len(self.state.assignments) or self.state.pool.pending or busy:
            self.rests_since = time.monotonic()
        rested = time.monotonic() - self.rests_since > 2 * TICK  # no run is watched any more
        if rested and self.counts and self.done >= self.counts[0]:
            (self.state.home.path / f"memory-{self.counts.pop(0)}").write_text(str(held()))


def held() -> int:
    gc.collect()
    filters = [
        tracemalloc.Filter(inclusive=True, filename_pattern=_SOURCE, all_frames=True),
        tracemalloc.Filter(inclusive=False, filename_pattern=__file__, all_frames=False),
        tracemalloc.Filter(inclusive=False, filename_pattern=tracemalloc.__file__),
    ]
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(filters).traces)


fleet = control.opened()
tracemalloc.start(FRAMES)
with sole_supervisor(fleet.home):
    Measured(fleet.home, fleet.config, echo=None).run()
