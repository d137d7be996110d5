"""The epics of a plan end with its acceptance task, whatever becomes of the supervisor."""

from types import SimpleNamespace

import pytest

from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.supervisor.queue_io.plan_epics import (
    FOLDER,
    close_epics,
    close_left_epics,
    mark_end,
)
from fleet.supervisor.queue_io.queue_thread import QueueThread


@pytest.fixture
def state(home):
    """A supervisor whose queue answers at once."""
    queue = open_embedded(home.path)
    thread = QueueThread(lambda: queue, lambda *_: None, owner="me")
    thread.call = lambda ask, then, **_: then(ask(queue))
    said = []
    yield SimpleNamespace(
        home=home,
        real=queue,
        queue=thread,
        log=SimpleNamespace(say=lambda _, text, **__: said.append(text)),
        said=said,
    )
    queue.close()


def acceptance(state):
    """A plan whose last task is its acceptance; returns the epic and that task."""
    epic = state.real.add(Draft(title="a plan", issue_type="epic"))
    of_plan = {"plan": {"closes": [epic.id]}}
    return epic.id, state.real.add(Draft(title="Acceptance", parent=epic.id, metadata=of_plan))


def marks(state):
    return sorted(each.name for each in (state.home.path / FOLDER).iterdir())


def close(state, task):
    state.real.close_task(state.real.get(task.id), by="me", reason="done")


def test_a_supervisor_killed_before_it_closed_an_epic_is_followed_by_one_that_does(state):
    """The acceptance task is closed, and nothing else would look at its epic again."""
    epic, task = acceptance(state)
    mark_end(state.home, task)
    close(state, task)
    close_left_epics(state)
    assert state.real.get(epic).status == "closed"
    assert state.said == [f"{epic}: closed: all of its tasks are closed"]
    assert marks(state) == []


def test_an_acceptance_task_that_is_not_closed_yet_is_remembered(state):
    """It waits to land: the epic stays open, over as many supervisors as that takes."""
    epic, task = acceptance(state)
    mark_end(state.home, task)
    close_left_epics(state)
    assert (state.real.get(epic).status, marks(state)) == ("open", [task.id])
    close(state, task)
    close_epics(state, [state.real.get(task.id)])
    assert (state.real.get(epic).status, marks(state)) == ("closed", [])


def test_other_tasks_leave_no_mark(state):
    """Most tasks are no acceptance task."""
    mark_end(state.home, state.real.add(Draft(title="a task")))
    close_left_epics(state)
    assert not (state.home.path / FOLDER).exists()
