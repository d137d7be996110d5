"""`fleet task`: the files of one task, receipts and diffs, and restoring files."""

from datetime import datetime
from functools import partial
from typing import Literal

import click

from fleet import control
from fleet.cli.best_effort import best_effort
from fleet.cli.inspect.diff import show_diff
from fleet.cli.inspect.receipt import show_receipt
from fleet.cli.inspect.restore import restore
from fleet.cli.print_file import put, put_lines
from fleet.cli.task_ids import task_id
from fleet.cli.terminal_text import print_line
from fleet.cli.tracker.show import show_task
from fleet.control.landing.open_landings import landing_of_run
from fleet.control.tasks.in_progress import in_progress
from fleet.control.tasks.receipt import receipt_of
from fleet.control.tasks.task_files import WHATS, What, document, followed, whole
from fleet.errors import BadInput
from fleet.schemas.shown_text import one_line

#: What can be asked of a task.
_WORDS = (*WHATS, "receipt", "diff", "restore")


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
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--follow", "-f", is_flag=True, help="Go on until the run ends, or Ctrl-C.")
@click.option(
    "--run", "number", type=click.IntRange(min=1), metavar="N",
    help="Of this run instead of the latest (events, stderr, receipt, diff, restore).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Raw JSON: log, events, receipt, diff.")
@click.option("--stat", is_flag=True, help="Only the files of the diff, with their figures.")
@click.option("--dry-run", is_flag=True, help="Say what restore would do, and do nothing.")
@click.option("--force", is_flag=True, help="Restore also what changed since the run ended.")
def command(
    task_id: str,
    what: What | Literal["receipt", "diff", "restore"] | None,
    paths: tuple[str, ...],
    follow: bool,
    number: int | None,
    as_json: bool,
    stat: bool,
    dry_run: bool,
    force: bool,
) -> None:
    """Print what was written about or by one task, or take back what a run did.

    Without a second word: the task as `fleet show` tells it, and what else there is.

    \b
    log        what the supervisor did with it (log.jsonl)
    plan       the agent's plan and progress (artifacts/PLAN_AND_STATUS.md)
    knowledge  what the agent found out (artifacts/KNOWLEDGE.md)
    events     what the agent did, line by line (events.jsonl)
    stderr     what the agent's program printed beside it
    receipt    what fleet itself saw of a run, and what it makes of it
    diff       what the run changed in its repository
    restore    bring files back as they were when the run began: all that it
               changed or deleted, or those that are named (of which also what
               it added is removed); paths count from the current directory

    The file goes byte for byte into a pipe. On a terminal log and events are sentences (--json: the
    lines as they are), a diff has colours, and control characters are shown as escapes.
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are
    fleet = control.opened()
    if paths and what != "restore":
        raise BadInput(f"{paths[0]!r} is one word too many: only restore takes paths")
    if (dry_run or force) and what != "restore":
        raise BadInput("--dry-run and --force work with restore only")
    if stat and what != "diff":
        raise BadInput("--stat works with diff only")
    if follow and what in (None, "receipt", "diff", "restore"):
        raise BadInput("--follow works with log, plan, knowledge, events and stderr only")
    if as_json and what not in ("log", "events", "receipt", "diff"):
        raise BadInput("--json works with log, events, receipt and diff only")
    if what is None:
        task = fleet.get(task_id)
        show_task(fleet, task, datetime.now().astimezone())
        print_line(f"More: fleet task {task.id} WORD, which is one of {', '.join(_WORDS)}")
        return
    if what == "diff":
        show_diff(fleet, task_id, number, stat=stat, as_json=as_json)
        return
    if what == "restore":
        restore(fleet, task_id, number, paths=paths, dry_run=dry_run, force=force)
        return
    if what == "receipt":
        receipt = receipt_of(fleet, task_id, number)
        show_receipt(receipt, as_json=as_json, landing=landing_of_run(fleet, receipt))
        return
    found = document(fleet, task_id, what, number)
    show = partial(put_lines, raw=as_json) if what in ("log", "events") else put
    if not follow:
        show(whole(found))
        return
    if found.run is None and found.elsewhere is None:
        click.echo("(no run is alive: this is all there is)", err=True)
    try:
        show(followed(fleet, found))
    except KeyboardInterrupt:
        return
