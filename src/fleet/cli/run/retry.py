"""`fleet retry`: put a blocked task back into the queue, with attempts counted anew."""

import click

from fleet import control
from fleet.cli.live_view import waiting
from fleet.cli.task_ids import for_each, task_ids
from fleet.cli.terminal_text import print_line
from fleet.control.acts.task_flags import budget_from
from fleet.control.tasks.retry import retried_words, retry
from fleet.schemas import Task


@click.command("retry")
@task_ids("blocked", "open")
@click.option(
    "--budget", metavar="AMOUNT", help="What it may spend from now on, all its runs together."
)
@click.option("--fresh", is_flag=True, help="Begin anew: a new clone, and a new session.")
def command(task_ids: tuple[str, ...], budget: str | None, fresh: bool) -> int:
    """Put blocked tasks back into the queue, each with all its attempts before it.

    A task that waits for its next attempt is tried at once. What it spent is not forgotten: one
    whose budget is spent needs a larger one ($10, 50M tokens, none).

    With --fresh the work so far is put away (for a week: refs/fleet/<id>/branch), and the next run
    begins with what its branch holds then.
    """
    wanted = None if budget is None else budget_from(budget)
    fleet = control.opened()
    with waiting("asking the queue"):
        # All of them exist, or none is changed.
        tasks = [fleet.get(task_id) for task_id in task_ids]

    def open_again(found: Task) -> None:
        with waiting(f"opening {found.id}"):
            done = retry(fleet, found, budget=wanted, fresh=fresh)
        print_line(retried_words(done, fresh=fresh))

    return for_each(tasks, open_again)
