"""`fleet task`: the files of one task, receipts and diffs."""

import sys
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any, Literal

import click
import msgspec

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.print_file import changed_file, put, put_diff, put_lines
from fleet.cli.task_ids import best_effort, task_id
from fleet.cli.terminal_text import painted, print_line, row
from fleet.cli.tracker.show import show_task
from fleet.control import Control
from fleet.control.landing.open_landings import landing_of_run
from fleet.control.review.receipt_rows import landing_rows, receipt_rows, verdict_words
from fleet.control.tasks.in_progress import in_progress
from fleet.control.tasks.receipt import changes_of, diff_of, receipt_of
from fleet.control.tasks.task_files import WHATS, What, document, followed, read_whole, whole
from fleet.control.tasks.undo import undo_commands
from fleet.errors import BadInput
from fleet.home.landing_json import Landing
from fleet.schemas import Receipt
from fleet.schemas.receipt import VERDICT_COLOURS
from fleet.schemas.shown_text import one_line

#: What can be asked of a task.
_WORDS = (*WHATS, "receipt", "diff")
#: The column that values of a receipt begin at.
_COLUMN = 12


class WithRunning(click.Command):
    """A command whose --help also lists the tasks that run now."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _help
        return option


def _help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if not value or ctx.resilient_parsing:
        return
    click.echo(ctx.get_help(), color=ctx.color)
    tasks = [task for task in best_effort(in_progress) if task.lives]
    if tasks:
        click.echo("\nRunning tasks:")
    for task in tasks:
        run = task.progress
        what = f"[{one_line(run.coder)}/{one_line(run.model) or '-'}]"
        click.echo(f"  {task.id}  {one_line(task.title)}  {what}")
    ctx.exit()


@click.command("task", cls=WithRunning)
@task_id()
@click.argument("what", type=click.Choice(_WORDS), required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on until the run ends, or Ctrl-C.")
@click.option(
    "--run", "number", type=click.IntRange(min=1), metavar="N",
    help="Of this run instead of the latest (events, stderr, receipt, diff).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Raw JSON: log, events, receipt, diff.")
@click.option("--stat", is_flag=True, help="Only the files of the diff, with their figures.")
def command(
    task_id: str,
    what: What | Literal["receipt", "diff"] | None,
    follow: bool,
    number: int | None,
    as_json: bool,
    stat: bool,
) -> None:
    """Print what was written about or by one task.

    Without a second word: the task as `fleet show` tells it, and what else there is.

    \b
    log        what the supervisor did with it (log.jsonl)
    plan       the agent's plan and progress (artifacts/PLAN_AND_STATUS.md)
    knowledge  what the agent found out (artifacts/KNOWLEDGE.md)
    events     what the agent did, line by line (events.jsonl)
    stderr     what the agent's program printed beside it
    receipt    what fleet itself saw of a run, what it makes of it, and the git
               commands that take it back
    diff       what the run changed in its repository

    The file goes byte for byte into a pipe. On a terminal log and events are sentences (--json: the
    lines as they are), a diff has colours, and control characters are shown as escapes.
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are
    fleet = control.opened()
    if stat and what != "diff":
        raise BadInput("--stat works with diff only")
    if follow and what in (None, "receipt", "diff"):
        raise BadInput("--follow works with log, plan, knowledge, events and stderr only")
    if as_json and what not in ("log", "events", "receipt", "diff"):
        raise BadInput("--json works with log, events, receipt and diff only")
    if what is None:
        task = fleet.get(task_id)
        show_task(fleet, task, datetime.now().astimezone())
        print_line(f"More: fleet task {task.id} WORD, which is one of {', '.join(_WORDS)}")
        return
    if what == "diff":
        _show_diff(fleet, task_id, number, stat=stat, as_json=as_json)
        return
    if what == "receipt":
        receipt = receipt_of(fleet, task_id, number)
        show_receipt(receipt, as_json=as_json, landing=landing_of_run(fleet, receipt))
        name = "undo"
        for line in () if as_json else undo_commands(fleet, receipt):
            click.echo(row(name, one_line(line), _COLUMN))  # to be copied, so it is not broken
            name = ""
        return
    found = document(fleet, task_id, what, number)
    raw = as_json or not sys.stdout.isatty()
    show = partial(put_lines, raw=raw) if what in ("log", "events") else put
    if not follow:
        show(whole(found))
        return
    if found.run is None and found.elsewhere is None:
        click.echo("(no run is alive: this is all there is)", err=True)
    try:
        show(followed(fleet, found))
    except KeyboardInterrupt:
        return


def show_receipt(receipt: Receipt, *, as_json: bool, landing: Landing | None = None) -> None:
    """Print a receipt, with what became of the run's work where work lands."""
    if as_json:
        shape: dict[str, Any] = msgspec.to_builtins(receipt)
        if receipt.verdict is not None:
            shape["verdict"]["state"] = receipt.verdict.state
        if landing is not None:
            shape["landing"] = landing
        print_json(shape)
        return
    for line in receipt_lines(receipt, landing):
        print_line(line, _COLUMN)


def receipt_lines(receipt: Receipt, landing: Landing | None = None) -> Iterator[str]:
    """The receipt for people, row by row."""
    earlier = f"; the run before: --run {receipt.run - 1}" if receipt.run > 1 else ""
    yield f"{receipt.task_id}, run {receipt.run}: {_state(receipt)}{earlier}"
    for each in (*landing_rows(landing), *receipt_rows(receipt)):
        end = f"  {painted(each.end, each.style)}" if each.end else ""
        yield row(each.name, f"{each.text}{end}", _COLUMN)


def _state(receipt: Receipt) -> str:
    """The verdict, with the first word in a colour."""
    words = verdict_words(receipt)
    if receipt.verdict is None or words != receipt.verdict.state:
        return words
    return painted(words, f"bold {VERDICT_COLOURS[receipt.verdict.state]}")


def _show_diff(fleet: Control, word: str, number: int | None, *, stat: bool, as_json: bool) -> None:
    """Print a run's difference: the whole patch, or the files with their figures."""
    if not stat and not as_json:
        put_diff(read_whole(diff_of(fleet, word, number)))
        return
    changes = changes_of(fleet, word, number)
    if as_json:
        print_json(changes)
        return
    for file in changes.files:
        click.echo(changed_file(file))
    if changes.more:
        click.echo(f"… and {changes.more} more")
