"""What keeps a task from running, and which tasks are woken once nothing does."""

from datetime import timedelta

import pytest

from fleet.accounts.choose_account import AccountWait
from fleet.config import Config
from fleet.config.projects import Project
from fleet.home.status_file import PAUSED
from fleet.schemas import Spend
from fleet.spending.budget_gates import BudgetWait
from fleet.spending.budgets import day_of, next_day
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.queue_io import reopen_tasks
from fleet.supervisor.queue_io.reopen_tasks import wake_all
from fleet.supervisor.start.ask_gates import why_waits
from tests.builders import NOW, a_task

DAY = next_day(NOW)


def settings(**projects):
    found = {
        path: Project(path=path, settings={"day_budget": each}) for path, each in projects.items()
    }
    return Config(coder="none", model="none", projects=found)


@pytest.fixture
def woken(state, monkeypatch):
    """The tasks that wait, and those that were woken, by what there is room for again."""
    tasks = [
        a_task(id="fleet-1", cwd="/srv", not_before=DAY),
        a_task(id="fleet-2", cwd="/srv", not_before=DAY + timedelta(hours=1)),
    ]
    found = {}
    monkeypatch.setattr(reopen_tasks, "waiting_tasks", lambda _, then: then(tasks))
    monkeypatch.setattr(
        reopen_tasks,
        "wake",
        lambda _, tasks, what: found.update({what: [task.id for task in tasks]}),
    )
    state.meter.ledger.add_elsewhere(
        day_of(NOW), SpendEntry(task="fleet-9", run=1, project="/srv", spend=Spend(usd=6.0, runs=1))
    )
    return found


def test_tasks_are_woken_once_their_budget_has_room_again(state, woken):
    """Those that waited for a day to begin, and those that waited for an account beside them."""
    state.apply(settings(**{"/srv": "$5"}))
    assert isinstance(why_waits(state, a_task(cwd="/srv")), BudgetWait)
    wake_all(state)
    assert woken == {"budget": [], "account": []}
    state.apply(settings(**{"/srv": "$9"}))
    assert why_waits(state, a_task(cwd="/srv")) is None
    wake_all(state)
    assert woken == {"budget": ["fleet-1"], "account": ["fleet-2"]}


def test_a_task_that_waited_for_a_budget_is_woken_without_an_account(state, woken, monkeypatch):
    """Its start finds when the account has room: a day is too long to wait for that."""
    state.apply(settings())
    busy = AccountWait(free_at=DAY, reason="busy", busy=True)
    monkeypatch.setattr(reopen_tasks, "why_waits", lambda *_: busy)
    wake_all(state)
    assert woken == {"budget": ["fleet-1"], "account": []}


def test_a_task_with_room_is_woken_while_fleet_is_paused(state, woken):
    """The end of the pause wakes no task: it would wait for an account that has room."""
    state.apply(settings())
    (state.home.path / PAUSED).touch()
    assert why_waits(state, a_task(cwd="/srv")).gate == "pause"
    wake_all(state)
    assert woken == {"budget": ["fleet-1"], "account": ["fleet-2"]}


def test_files_that_cannot_be_read_end_no_supervisor(state):
    """A task is asked about outside of its start, where nothing else meets the error."""
    state.apply(settings())
    wait = why_waits(state, a_task(cwd=f"/srv/{'x' * 300}"))
    assert wait.gate == "invalid"
    assert "File name too long" in wait.reason
