"""A supervisor as `fleet run --until-idle` is one, that waits seconds where that waits minutes.

What it waits for is the same for every run, and no setting: only the lengths are others here.
"""

import os
import sys

from fleet import control
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.supervisor.active import watch_runs
from fleet.supervisor.loop import Supervisor
from fleet.watchdog.stall_rules import Patience

QUICK = Patience(
    call=2.0, mcp=4.0, question=3.0, exit=3.0, limit=30.0, window=3.0, away=10.0, census=1.0
)


def main() -> None:
    watch_runs.PATIENCE = QUICK
    fleet = control.opened(os.environ)
    with sole_supervisor(fleet.home):
        Supervisor(fleet.home, fleet.config, until_idle=True).run()


if __name__ == "__main__":
    sys.exit(main())
