"""`fleet tasks`: what is being worked on, once or over and over."""

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fleet import control
from fleet.bd.pflag import Flag, Parsed
from fleet.cli.fast_path import Quick
from fleet.cli.terminal_text import painted, terminal_width
from fleet.control import Control
from fleet.control.landing.open_landings import with_landings
from fleet.control.tasks.in_progress import InProgress, in_progress, shared_directories
from fleet.errors import BadInput
from fleet.schemas.shown_text import one_line, some, wrapped

if TYPE_CHECKING:
    from fleet.control.view.now import Now

LIMIT = 50
NOTHING = "No tasks in progress."
#: How many tasks of one directory are named.
_MOST_NAMED = 5


def tasks(line: Parsed) -> int:
    limit = line.number("limit", LIMIT)
    if limit < 1:
        raise BadInput(f"--limit must be 1 or more, not {limit}")
    fleet = control.opened()
    view = _all_view if line.switch("all") else _running_view
    if line.switch("watch"):
        from fleet.cli.live_view import watch_lines

        watch_lines(lambda: view(fleet, limit), "fleet tasks --json")
        return 0
    if line.switch("json"):
        from fleet.cli.json_output import print_json

        if line.switch("all"):
            print_json(_read_all(fleet, datetime.now().astimezone()).rows)
        else:
            print_json([row_shape(task) for task in _at_work(fleet)[:limit]])
        return 0
    if not line.switch("all"):
        from fleet.control.view.why_not_now import hindrances

        for text in hindrances(fleet, datetime.now().astimezone()):
            print(one_line(text), file=sys.stderr)
    for text in view(fleet, limit):
        print(text)
    return 0


def _at_work(fleet: Control) -> Sequence[InProgress]:
    return with_landings(fleet, in_progress(fleet))


def _read_all(fleet: Control, now: datetime) -> "Now":
    """Every task that is not closed, and those that were closed today."""
    from fleet.control.view.read_now import NowReader

    return NowReader(fleet).read(now, now.replace(hour=0, minute=0, second=0, microsecond=0))


def _all_view(fleet: Control, limit: int) -> list[str]:
    from fleet.cli.inspect.tasks_table import all_view

    now = datetime.now().astimezone()
    seen = _read_all(fleet, now)
    stand = {row.id for row in seen.rows if row.group != "running"}
    running = _view([task for task in _at_work(fleet) if task.id not in stand], limit)
    return list(all_view(seen, running, now, terminal_width(), limit))


def _running_view(fleet: Control, limit: int) -> list[str]:
    return _view(_at_work(fleet), limit)


def _view(found: Sequence[InProgress], limit: int) -> list[str]:
    if not found:
        return [NOTHING]
    from fleet.cli.inspect.tasks_table import tasks_table

    lines = list(tasks_table(found[:limit], datetime.now().astimezone(), terminal_width()))
    if len(found) > limit:
        lines.append(painted(f"and {len(found) - limit} more (--limit {len(found)})", "dim"))
    for cwd, ids in shared_directories(found).items():
        names = some(ids, _MOST_NAMED)
        text = f"{names} work in one directory, {cwd}: --work-in clone gives each task its own"
        lines += [painted(line, "yellow") for line in wrapped(one_line(text), terminal_width())]
    return lines


def row_shape(task: InProgress) -> dict[str, object]:
    """The row and its run as one flat object."""
    from msgspec import structs

    row, run = structs.asdict(task), structs.asdict(task.progress)
    del row["progress"], row["asked"], row["landing"], run["doing"], run["why"], run["until"]
    return {**row, "state": task.standing.state, **run, "context_percent": task.context_percent}


QUICK = Quick(
    name="tasks",
    about="Show the tasks in progress, one line each.\n\n"
    "Each with its run: started, elapsed, idle since its last sign of life, the fullest its context"
    " was, events, coder, model, title and directory. Bold is what the task asked for itself, dim"
    " what it inherits from runtime.toml.",
    flags=(
        Flag("limit", "number", "n", help=f"How many at most (default {LIMIT})."),
        Flag(
            "all",
            "switch",
            "a",
            help="Also what needs you, what waits and why, and what was done today.",
        ),
        Flag("json", "switch", help="A JSON array with all that is known."),
        Flag("watch", "switch", "w", help="Show it anew, in place, until Ctrl-C."),
    ),
    run=tasks,
)
