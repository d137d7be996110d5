"""Closes the epics of a plan once its acceptance task is closed, by its run or by its landing."""

from collections.abc import Iterable
from functools import partial

from fleet.plan.plan_changes import epics_closed_by
from fleet.schemas import Task
from fleet.supervisor.state import SupervisorState


def close_epics(state: SupervisorState, tasks: Iterable[Task]) -> None:
    """Close the epics that end with these tasks, which are closed."""

    def closed(ids: list[str]) -> None:
        for each in ids:
            state.log.say("closed", f"{each}: closed: all of its tasks are closed", task=each)

    for task in tasks:
        if ids := epics_closed_by(task):
            state.queue.close_epics(ids, closed)


def close_epics_of(state: SupervisorState, ids: Iterable[str]) -> None:
    """The same for tasks that are known by their ids."""
    if wanted := tuple(ids):
        state.queue.named(wanted, partial(close_epics, state))
