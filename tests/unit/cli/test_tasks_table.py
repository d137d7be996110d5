"""The table of `fleet tasks` at the widths that people have."""

from datetime import timedelta

import pytest

from fleet.cli import terminal_text
from fleet.cli.inspect.tasks_table import all_view, tasks_table
from fleet.cli.terminal_text import ENDLESS
from fleet.control.tasks.in_progress import InProgress
from fleet.runs.progress_json import Progress
from fleet.schemas.shown_text import cells, moment
from fleet.schemas.task_state import WayOn
from tests.builders import NOW
from tests.unit.tui.homes import a_now, a_row


def a_run(**fields):
    whole = {
        "id": "fleet-x4f",
        "title": "Fix the login page",
        "doing": "running",
        "cwd": "/srv/code/web",
        "overrides": ("cwd",),
        "run": 1,
        "started_at": NOW - timedelta(minutes=62),
    }
    progress = {
        "coder": "claude",
        "model": "sonnet",
        "last_event_at": NOW - timedelta(seconds=8),
        "events": 214,
        "context_peak": 61_400,
        "context_window": 200_000,
    }
    of_run = {name: fields.pop(name, told) for name, told in progress.items()}
    return InProgress(**whole | fields, progress=Progress(**of_run))


def test_of_a_clone_the_project_is_shown():
    """Its own path is long, and says nothing to a person."""
    task = a_run(cwd="/home/x/.fleet/worktrees/fleet-x4f", project="/srv/code/web")
    for width in (100, 200):
        said = "\n".join(tasks_table([task], NOW, width))
        assert "/srv/code/web (clone)" in said
        assert "worktrees" not in said


TASKS = (
    a_run(),
    a_run(
        id="fleet-9kc.2",
        title="Port the parser from the old tree to the new one, with all of its tests and docs",
        coder="codex",
        model="gpt-5.1-codex-max",
        overrides=("cwd", "coder", "model"),
        cwd="/srv/code/compilers/experimental/frontend/parser",
        context_peak=104_000,
        started_at=NOW - timedelta(days=2, hours=3),
    ),
    a_run(
        id="fleet-m0t",
        title="Nearly full",
        context_peak=171_000,
        doing="stopping",
        reason="its context is full, it goes on in a fresh session",
    ),
    a_run(
        id="fleet-una",
        title="An orphan for now",
        doing="unsupervised",
        reason="a new supervisor adopts it: fleet run",
        context_peak=0,
        events=0,
    ),
    a_run(
        id="fleet-new", title="Just claimed", doing="starting", run=None, started_at=None,
        last_event_at=None, context_peak=0, events=0, model="",
    ),
    InProgress(
        id="fleet-bad", title="Broken", doing="invalid", reason="task.json: not an object"
    ),
)  # fmt: skip


def rendered(tasks, width):
    return "\n".join(tasks_table(tasks, NOW, width))


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_the_table_reads_well(width, snapshot):
    """One line a task; only a reason that has no room stands below its task."""
    assert rendered(TASKS, width) == snapshot


def test_colours_tell_full_contexts_and_overrides(monkeypatch, snapshot):
    """Green, yellow from 50 %, red from 80 %; bold is the task's own, dim is inherited."""
    monkeypatch.setattr(terminal_text, "wants_colour", lambda: True)
    assert rendered(TASKS[:3], 200) == snapshot


@pytest.mark.parametrize("width", range(30, 220, 7))
def test_no_line_is_wider_than_the_terminal_and_no_id_is_cut(width):
    """A table that wraps cannot be read, and half an id is of no use."""
    lines = rendered(TASKS, width).splitlines()
    assert max(cells(line) for line in lines) <= width
    assert all(any(line.startswith(task.id) for line in lines) for task in TASKS)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_task_that_plainly_runs_has_one_line(width):
    """Fifty tasks are read at a glance, or not at all."""
    assert len(rendered([TASKS[0], TASKS[1]] * 5, width).splitlines()) == 11


def test_no_reason_is_cut():
    """What keeps a task is what a person came for."""
    said = " ".join(rendered(TASKS, 40).split())
    assert all(task.reason in said for task in TASKS)


def test_nothing_is_cut_on_the_way_to_a_program():
    """A program that reads the output finds the whole title and the whole path."""
    lines = rendered(TASKS, ENDLESS).splitlines()
    line = next(line for line in lines if line.startswith("fleet-9kc.2"))
    assert TASKS[1].title in line
    assert TASKS[1].cwd in line


def test_text_of_tasks_is_never_obeyed():
    """Neither markup nor control characters of a title do anything."""
    out = rendered([a_run(title="[bold]a[/] :smile: \x1b[2J\n\rb", cwd="/tmp/\x07[red]")], 200)
    assert "[bold]a[/] :smile: \\x1b[2J\\n\\rb" in out
    assert "/tmp/\\x07[red]" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (
            "finished without closing the task",
            " · failed: finished without closing the task (fleet retry x)",
        ),
        (
            "stopped by Ann; to go on: fleet retry x",
            " · failed: stopped by Ann; to go on: fleet retry x",
        ),
    ],
)
def test_the_way_on_is_said_once(reason, shown):
    """Many a reason ends with the command that goes on."""
    way_on = WayOn(verb="retry", line="fleet retry x")
    row = a_row(state="failed", group="needs_you", status="blocked", reason=reason, way_on=way_on)
    lines = list(all_view(a_now((row,)), [], NOW, ENDLESS, 9))
    assert lines[1].endswith(shown)


def test_the_end_of_a_wait_stands_before_its_reason():
    """Behind the reason it would read as a part of it."""
    row = a_row(state="waiting", group="waiting", reason="it ended early", until=NOW)
    lines = list(all_view(a_now((row,)), [], NOW, ENDLESS, 9))
    assert any(f" · until {moment(NOW, NOW)}: it ended early" in line for line in lines), lines
