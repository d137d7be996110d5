"""`fleet ready`: the tasks that could be worked on now."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fleet import control
from fleet.bd.pflag import Flag, Parsed
from fleet.cli.fast_path import Quick
from fleet.cli.terminal_text import folded
from fleet.control import Control
from fleet.errors import BadInput, InvalidTask
from fleet.schemas import Task
from fleet.schemas.shown_text import moment, one_line

if TYPE_CHECKING:
    from fleet.control.view.why_not_now import Waiting

LIMIT = 50


def ready(line: Parsed) -> int:
    limit = line.number("limit", LIMIT)
    if limit < 1:
        raise BadInput(f"--limit must be 1 or more, not {limit}")
    fleet = control.opened()
    tasks = fleet.ready(limit + 1)  # one more tells whether there are more
    tasks, more = tasks[:limit], len(tasks) > limit
    if line.switch("json"):
        from fleet.cli.json_output import print_json, task_shape

        print_json([task_shape(fleet, task) for task in tasks])
        return 0
    _print(fleet, tasks)
    if more:
        print(f"There are more: fleet ready --limit {2 * limit}")
    return 0


def _print(fleet: Control, tasks: Sequence[Task]) -> None:
    """What can start now, and below that what waits for something of its own."""
    from fleet.control.view.why_not_now import own_conditions, own_wait

    now = datetime.now().astimezone()
    at = own_conditions(fleet, now)
    ready: list[str] = []
    waiting: list[str] = []
    for task in tasks:
        head = f"{task.id}  {one_line(task.title)}"
        try:
            place = fleet.place(task)
        except InvalidTask as error:
            waiting.append(folded(f"{head}  [{one_line(error.message)}]", 2))
            continue
        shown = f"{head}  [{one_line(place.cwd)}]"
        wait = own_wait(fleet, task, at, coder=place.coder, cwd=place.cwd)
        if wait is None:
            ready.append(folded(shown, 2))
        else:
            waiting.append(folded(f"{shown}  {_words(task, wait, now)}", 2))
    print(*(ready or ["No ready tasks."]), sep="\n")
    if waiting:
        print("Waiting:", *waiting, sep="\n")


def _words(task: Task, wait: "Waiting", now: datetime) -> str:
    if wait.until is not None and wait.until > now:
        return f"waits until {moment(wait.until, now)}: fleet show {task.id}"
    return f"waits: {one_line(wait.reason)}{f': {wait.way_on.line}' if wait.way_on else ''}"


QUICK = Quick(
    name="ready",
    about="List tasks that could be worked on now: id, title and directory, best first."
    " Below them those that nothing in the queue holds and that wait all the same: for an account,"
    " a budget or their next attempt with the time, and one that fleet does not begin with the"
    " reason.",
    flags=(
        Flag("limit", "number", "n", help=f"How many at most (default {LIMIT})."),
        Flag("json", "switch", help="A JSON array, with the directory, coder and model of each."),
    ),
    run=ready,
)
