"""The one way to stop a task in hand: for a person, for a rule, or as the supervisor ends.

The reason is written before the keeper is signalled. What became of the run is decided once it has
ended.
"""

from msgspec import structs

from fleet.processes.keeper_client import stop_run
from fleet.runs import stop_reason
from fleet.schemas import Outcome, Stopped
from fleet.settlement.settle_table import stopped
from fleet.supervisor.assignments import (
    Active,
    Arriving,
    Assignment,
    Claimed,
    Finishing,
    Inspecting,
    Preparing,
    Sending,
    Stopping,
    Trying,
)
from fleet.supervisor.finish_run import settle
from fleet.supervisor.state import SupervisorState


def stop_all(state: SupervisorState, reason: Stopped, *, now: bool) -> None:
    """End every run, also runs that come to light from now on."""
    state.shutdown.reason = reason
    for assignment in state.assignments:
        stop_task(state, assignment.task_id, reason, now=now)


def stop_task(state: SupervisorState, task_id: str, reason: Stopped, *, now: bool = False) -> bool:
    """End one task's run, or keep the run from beginning. False: there is nothing to end."""
    assignment = state.assignments.get(task_id)
    if assignment is None:
        return False
    if isinstance(assignment.stage, Claimed | Arriving):
        settle(state, assignment, stopped(reason, task_id))
        return True
    return stop_assignment(assignment, reason, now=now)


def stop_assignment(assignment: Assignment, reason: Outcome, *, now: bool = False) -> bool:
    """End the task's run, or keep the run from beginning. False: there is nothing to end.

    The first reason stands; a later call with `now` gives a run that is stopping no more time.
    """
    match assignment.stage:
        case (
            Preparing(stop_reason=known, abandon=abandon)
            | Trying(stop_reason=known, abandon=abandon) as stage
        ):
            if known is None and isinstance(reason, Stopped):
                assignment.stage = structs.replace(stage, stop_reason=reason)
            abandon.set()
        case Active(run):
            cut_off = run.tools.at_work
            assignment.stage = Stopping(run, reason, cut_off)
            stop_run(run.run, reason, keeper=run.keeper and run.keeper.who, now=now)
        case Stopping(run, known):
            if now:
                stop_run(run.run, known, keeper=run.keeper and run.keeper.who, now=True)
        case Finishing(run, ended) | Inspecting(run, ended) as stage:
            if ended.stop_reason is None:
                stop_reason.record(run.run, reason)
                ended = structs.replace(ended, stop_reason=reason)
                assignment.stage = structs.replace(stage, ended=ended)
            if isinstance(stage, Inspecting):
                stage.abandon.set()
        case Sending(abandon=abandon):
            abandon.set()
        case _:
            return False
    return True
