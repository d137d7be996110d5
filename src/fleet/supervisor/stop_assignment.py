"""Stops a task in hand, whatever stage it has reached."""

from msgspec import structs

from fleet.processes.stop_run import stop_run
from fleet.runs import stop_reason
from fleet.schemas import Outcome, Stopped
from fleet.supervisor.assignments import (
    Active,
    Assignment,
    Finishing,
    Inspecting,
    Preparing,
    Stopping,
)


def stop_assignment(assignment: Assignment, reason: Outcome, *, now: bool = False) -> bool:
    """End the task's run, or keep it from beginning. False: there is nothing to end.

    The first reason stands; a later call with `now` gives a run that is stopping no more time.
    """
    match assignment.stage:
        case Preparing(stop_reason=known, abandon=abandon) as stage:
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
        case _:
            return False
    return True
