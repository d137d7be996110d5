"""`fleet tasks`: what is being worked on, once or over and over."""

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

import click
from msgspec import structs

from fleet import control
from fleet.accounts.breaker_store import Breaker
from fleet.cli.terminal_text import one_line
from fleet.control import Control
from fleet.control.budget_status import day_budgets
from fleet.control.tasks.in_progress import InProgress, in_progress
from fleet.errors import BadInput, QueueError
from fleet.spending.budgets import spent_words

if TYPE_CHECKING:
    from rich.console import RenderableType

LIMIT = 50
NOTHING = "No tasks in progress."
#: Seconds from one look to the next with --watch, and how many times longer a pause is than the
#: look that it follows: a queue that takes long to ask is asked less often.
PAUSE, REST = 1.0, 9


@click.command("tasks")
@click.option(
    "--limit", "-n", type=click.IntRange(min=1), default=LIMIT, show_default=True,
    help="How many at most.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="A JSON array with all that is known.")
@click.option("--watch", "-w", is_flag=True, help="Show it anew, in place, until Ctrl-C.")
def command(limit: int, as_json: bool, watch: bool) -> None:
    """Show the tasks in progress.

    Each with its run: started, elapsed, idle since its last sign of life, the fullest its context
    was, events, coder, model, title and directory. Bold is what the task asked for itself, dim
    what it inherits from runtime.toml.
    """
    fleet = control.opened()
    if watch:
        _watch(fleet, limit)
        return
    tasks = in_progress(fleet)
    held = Breaker(fleet.home.path).held()
    if as_json:
        from fleet.cli.json_output import pretty

        click.echo(pretty([_shape(task) for task in tasks[:limit]]))
        return
    for each in held:
        text = f"{each.name} gets no work: {each.text}. To go on: fleet resume --coder {each.coder}"
        click.echo(one_line(text), err=True)
    for spent in day_budgets(fleet, datetime.now().astimezone()):
        if spent.reached:
            click.echo(one_line(f"Nothing starts: {spent_words(spent)}"), err=True)
    if not tasks:
        click.echo(NOTHING)
        return
    from rich.console import Console

    console = Console(width=_width(), highlight=False, markup=False, emoji=False)
    console.print(*_view(tasks, limit, console.width), sep="\n")


def _width() -> int | None:
    """The terminal's width; into a pipe nothing is cut, unless somebody says how wide it is."""
    from fleet.cli.inspect.tasks_table import UNBOUNDED

    return None if sys.stdout.isatty() or os.environ.get("COLUMNS") else UNBOUNDED


def _view(tasks: Sequence[InProgress], limit: int, width: int) -> "list[RenderableType]":
    from rich.text import Text

    from fleet.cli.inspect.tasks_table import table

    view: list[RenderableType] = [table(tasks[:limit], datetime.now().astimezone(), width)]
    if len(tasks) > limit:
        view.append(Text(f"and {len(tasks) - limit} more (--limit {len(tasks)})", style="dim"))
    return view


def _shape(task: InProgress) -> dict[str, object]:
    return {**structs.asdict(task), "context_percent": task.context_percent}


def _watch(fleet: Control, limit: int) -> None:
    if not sys.stdout.isatty():
        raise BadInput("--watch needs a terminal", hint="For a program: fleet tasks --json")
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)

    def look() -> Group:
        try:
            tasks = in_progress(fleet)
        except QueueError as error:  # it may heal: the next look tells
            return Group(Text(error.message, style="red"))
        return Group(*_view(tasks, limit, console.width) if tasks else [Text(NOTHING)])

    # Ctrl-C is how one leaves: no fault, and no traceback.
    with suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        while True:
            began = time.monotonic()
            live.update(look(), refresh=True)
            time.sleep(max(PAUSE, REST * (time.monotonic() - began)))
