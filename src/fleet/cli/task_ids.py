"""The argument that names a task, and what a shell offers when Tab is pressed on it."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from fleet.cli.best_effort import best_effort
from fleet.cli.terminal_text import one_line
from fleet.schemas import Status

_MOST = 200


def task_id(*statuses: Status) -> Callable[[Any], Any]:
    """`ID`, completed with tasks of these statuses; with all open tasks if none is named."""
    return click.argument("task_id", metavar="ID", shell_complete=completer(*statuses))


def task_ids(*statuses: Status) -> Callable[[Any], Any]:
    """`ID...`, completed in the same way."""
    return click.argument(
        "task_ids", metavar="ID...", nargs=-1, required=True, shell_complete=completer(*statuses)
    )


def completer(
    *statuses: Status,
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Ids that begin as typed, with or without the prefix; titles where the shell shows them."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        return [
            CompletionItem(task.id, help=one_line(task.title)[:60])
            for task in best_effort(lambda fleet: fleet.beginning(incomplete, statuses, _MOST))
        ]

    return complete
