"""The one way to stop a run: its reason is written, and then its keeper is signalled.

A process that dies in between leaves a run that ends later with a reason, and never a run that
ended and looks as if it had failed by itself.
"""

import signal

from fleet.processes import keeper_client, process_identity
from fleet.runs import stop_reason
from fleet.runs.run_directory import ProcessId, Run
from fleet.schemas import Outcome


def stop_run(
    run: Run, reason: Outcome, *, keeper: ProcessId | None = None, now: bool = False
) -> bool:
    """Ask the run's keeper to stop the whole process tree: with the run's grace, or at once.

    The first reason that was written stands. `keeper` is known to the supervisor before the run's
    files name it. False: there is no keeper to ask.
    """
    stop_reason.record(run, reason)
    if keeper is None:
        return keeper_client.stop(run, now=now)
    return process_identity.send(keeper, signal.SIGINT if now else signal.SIGTERM)
