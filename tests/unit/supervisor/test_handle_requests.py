"""Requests of people: each is carried out once, by the supervisor that it is for."""

from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.errors import QueueBusy
from fleet.home import Home
from fleet.schemas import Request
from fleet.supervisor.queue_io import handle_requests
from fleet.supervisor.queue_io.handle_requests import RequestHandler
from fleet.supervisor.state import QueueChanged
from tests.builders import NOW


class WishQueue:
    """Holds wishes; striking one out fails as often as `failures` says, and is tried again."""

    def __init__(self):
        self.wishes, self.failures, self.again = [], 0, deque()

    def requests(self):
        return list(self.wishes)

    def answered(self, request):
        if self.failures:
            self.failures -= 1
            raise QueueBusy("locked")
        self.wishes.remove(request)

    def call(self, do, then):
        try:
            then(do(self))
        except QueueBusy:
            self.again.append((do, then))


@pytest.fixture
def queue():
    return WishQueue()


@pytest.fixture
def stopped(monkeypatch):
    """The tasks that were stopped."""
    tasks = []
    stop = lambda _state, task_id, _reason, **_: tasks.append(task_id) or True  # noqa: E731
    monkeypatch.setattr(handle_requests, "stop_task", stop)
    return tasks


def handler(queue, *, travel=None, say=lambda *_, **__: None):
    in_hand = {"fleet-1": SimpleNamespace(run=None)}
    log, home = SimpleNamespace(say=say), Home(Path("/home/ada/.fleet"))
    state = SimpleNamespace(queue=queue, assignments=in_hand, travel=travel, log=log, home=home)
    return RequestHandler(state)


def test_a_wish_is_handed_over_once(queue, stopped):
    """However often the doorbell rings before it is struck out: two stops mean at once."""
    queue.wishes = [Request(id="1", task_id="fleet-1", wish="stop", asked_at=NOW)]
    queue.failures = 2
    handles = handler(queue)
    for _ in range(3):
        handles.on_event(QueueChanged())
    while queue.again:
        queue.call(*queue.again.popleft())
    assert stopped == ["fleet-1"]
    assert queue.wishes == []


def test_a_wish_for_another_supervisor_is_left_to_it(queue, stopped):
    """On a shared queue only the supervisor that runs the task can stop it."""
    queue.wishes = [
        Request(id="1", task_id="theirs", wish="stop", asked_at=NOW),
        Request(id="2", task_id="fleet-1", wish="stop", asked_at=NOW),
    ]
    handler(queue, travel=object()).on_event(QueueChanged())
    assert stopped == ["fleet-1"]
    assert [request.id for request in queue.wishes] == ["1"]


def test_what_was_asked_stands_in_the_log_of_its_task(queue, stopped):
    """`fleet task ID log` says who stopped the task."""
    queue.wishes = [Request(id="1", task_id="fleet-1", wish="stop", asked_by="Ann", asked_at=NOW)]
    said = []
    handler(queue, say=lambda *words, task_dir: said.append((*words, task_dir.name))).on_event(
        QueueChanged()
    )
    assert said == [("stopping", "fleet-1: stopping, as Ann asked", "fleet-1")]
    assert stopped == ["fleet-1"]
