"""Stops agents of this home whose task was closed, deleted or taken by another home while no
supervisor was there to see it.
"""

import os
import signal

from fleet.errors import FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.processes import keeper_client, process_identity
from fleet.processes.keeper_client import stop_run
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.runs.run_id import RunId
from fleet.schemas import Stopped
from fleet.schemas.decision import LEASE_LOST


def stop_orphans(home: Home, owner: str, held: set[str], log: Log) -> None:
    """Stop every run that this home started for a task that it does not hold."""
    for mark in sorted(process_identity.bearers(f"{owner}.")):
        run_id = RunId.parse(mark)
        if run_id is not None and run_id.task not in held:
            log.say("stray", f"{run_id.task}: stopped, it is not this supervisor's any more")
            _stop(home, run_id)


def _stop(home: Home, run_id: RunId) -> None:
    try:
        run = latest_run(home.task(run_id.task))
        if run is not None and run.spec().id == str(run_id):
            if read_ending(run) is not None:
                told = keeper_client.stop(run)
            else:
                told = stop_run(run, Stopped(by=LEASE_LOST))
            if told:
                return
    except (FleetError, OSError):
        pass  # the run's directory is gone or damaged: its processes are found by their mark
    for who in process_identity.tree(*process_identity.marked(str(run_id))):
        if who.pid != os.getpid():
            process_identity.send(who, signal.SIGKILL)
