"""Agents of this home that nobody wants any more: their task was closed, deleted or taken by
another while no supervisor was here to see it.
"""

import os
import signal

from fleet.errors import FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.processes import keeper_client, process_identity
from fleet.runs import stop_reason
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.runs.run_id import RunId
from fleet.schemas import Stopped
from fleet.schemas.decision import LEASE_LOST


def stop_strays(home: Home, owner: str, held: set[str], log: Log) -> None:
    """Stop every run that this home's supervisors started for a task that they do not hold."""
    for mark in sorted(process_identity.marks(f"{owner}.")):
        run_id = RunId.parse(mark)
        if run_id is not None and run_id.task not in held:
            log.say("stray", f"{run_id.task}: stopped, it is not this supervisor's any more")
            _stop(home, run_id)


def _stop(home: Home, run_id: RunId) -> None:
    try:
        run = latest_run(home.task(run_id.task))
        if run is not None and run.spec().id == str(run_id):
            if read_ending(run) is None:
                stop_reason.record(run, Stopped(by=LEASE_LOST))
            if keeper_client.stop(run):
                return
    except (FleetError, OSError):
        pass  # its directory is gone or damaged: there is no keeper to be found, but the processes
    for who in process_identity.tree(*process_identity.marked(str(run_id))):
        if who.pid != os.getpid():
            process_identity.send(who, signal.SIGKILL)
