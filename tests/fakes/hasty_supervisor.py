"""The real supervisor with less patience: hasty_supervisor.py NAME=SECONDS …

What takes minutes takes seconds, so that a test need not. Limits come from the task as ever.
"""

import sys

from fleet import control
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.supervisor.active import watch_runs
from fleet.supervisor.loop import Supervisor
from fleet.watchdog.stall_rules import Patience

given = {name: float(value) for name, value in (word.split("=") for word in sys.argv[1:])}
watch_runs.PATIENCE = Patience(**given)
fleet = control.opened()
with sole_supervisor(fleet.home):
    Supervisor(fleet.home, fleet.config).run()
