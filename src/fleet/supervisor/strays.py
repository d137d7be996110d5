"""Agents of this home that nobody wants any more: their task was closed, deleted or taken by
another while no supervisor was here to see it.
"""

import os
import signal

from fleet.errors import FleetError
from fleet.schemas import Stopped
from fleet.supervisor import identity, process, verdict
from fleet.supervisor.history import read_ending
from fleet.supervisor.log import Log
from fleet.supervisor.settle import LEASE_LOST
from fleet.taskdir import Home
from fleet.taskdir.rundir import latest_run


def stop_strays(home: Home, owner: str, held: set[str], log: Log) -> None:
    """Stop every run that this home's supervisors started for a task that they do not hold."""
    for mark in sorted(identity.marks(f"{owner}.")):
        task_id = mark.removeprefix(f"{owner}.").rpartition(".")[0]
        if task_id not in held:
            log.say("stray", f"{task_id}: stopped, it is not this supervisor's any more")
            _stop(home, task_id, mark)


def _stop(home: Home, task_id: str, mark: str) -> None:
    try:
        run = latest_run(home.task(task_id))
        if run is not None and run.spec().id == mark:
            if read_ending(run) is None:
                verdict.record(run, Stopped(by=LEASE_LOST))
            if process.stop(run):
                return
    except (FleetError, OSError):
        pass  # its directory is gone or damaged: there is no keeper to be found, but the processes
    for who in identity.tree(*identity.marked(mark)):
        if who.pid != os.getpid():
            identity.send(who, signal.SIGKILL)
