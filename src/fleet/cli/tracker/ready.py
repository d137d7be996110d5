"""`fleet ready`: the tasks that could be worked on now."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fleet import control
from fleet.bd.pflag import Flag, Parsed
from fleet.cli.fast_path import Quick
from fleet.cli.terminal_text import folded
from fleet.control import Control
from fleet.errors import BadInput, InvalidTask
from fleet.home import landing_json
from fleet.schemas import Task
from fleet.schemas.shown_text import moment, one_line

if TYPE_CHECKING:
    from fleet.schemas.task_state import Wait

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
    """What can start now, what waits for something of its own, and why nothing starts."""
    from fleet.control.landing.open_landings import is_back
    from fleet.control.view.why_not_now import GateReader, conditions, why_nothing_starts

    now = datetime.now().astimezone()
    at = conditions(fleet, now)
    gates, held = GateReader(fleet, at), why_nothing_starts(at)
    begun = landing_json.unlanded(fleet.home)
    ready: list[str] = []
    waiting: list[str] = []
    for task in tasks:
        head = f"{task.id}  {one_line(task.title)}"
        try:
            place = gates.place(task)
        except InvalidTask as error:
            waiting.append(folded(f"{head}  [{one_line(error.message)}]", 2))
            continue
        shown = f"{head}  [{one_line(place.cwd)}]"
        wait = gates.why_not(task, place)
        if wait is None or wait.ready:
            back = task.id in begun and is_back(fleet, task)
            ready.append(folded(f"{shown}  (sent back)" if back else shown, 2))
        else:
            waiting.append(folded(f"{shown}  {_words(wait, now)}", 2))
    print(*(ready or ["No ready tasks."]), sep="\n")
    if waiting:
        print("Waiting:", *waiting, sep="\n")
    if ready and held is not None:
        print(f"Nothing starts: {one_line(held.words)}", file=sys.stderr)


def _words(wait: "Wait", now: datetime) -> str:
    reason = one_line(wait.words)
    if wait.until is not None and wait.until > now:
        return f"waits until {moment(wait.until, now)}: {reason}"
    return f"waits: {reason}"


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
