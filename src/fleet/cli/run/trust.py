"""`fleet trust`: let the verify commands run that came with a task from elsewhere."""

from datetime import UTC, datetime

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.task_ids import completer
from fleet.cli.terminal_text import print_line
from fleet.control.landing.trust_remote import trust_upstream
from fleet.control.queue.trust import ForeignTask, ids_in, trust_tasks, waiting_for_trust
from fleet.errors import BadInput
from fleet.schemas.shown_text import one_line


@click.command("trust")
@click.argument("ids", metavar="[ID]...", nargs=-1, shell_complete=completer())
@click.option("--all-from", "file", metavar="FILE", help="Every task of this file of bd export.")
@click.option(
    "--remote",
    metavar="DIR|ADDRESS",
    help="Let fleet push the project of this directory to where its branch leads now; or fetch from"
    " and push to this address, for tasks of other hosts.",
)
@click.option("--json", "as_json", is_flag=True, help="The tasks as a JSON array.")
def command(ids: tuple[str, ...], file: str | None, remote: str | None, as_json: bool) -> None:
    """Trust the verify commands of tasks that were not made on this machine.

    A task that came by `fleet bd import`, or over a queue that other machines share, does not begin
    here until its verify commands are trusted. Without an ID: the tasks that wait for it.

    Trusted are these very commands in the task's directory; other ones are asked for again. Tasks
    made here, and the verify commands in runtime.toml, need no trust.

    With --remote: fleet pushes with your own logins (land_to = push or pr), so it pushes only to an
    address that you have seen. It asks again when the project's remote leads elsewhere.
    """
    if remote is not None:
        _trust_remote(remote, bool(ids or file is not None))
        return
    if ids and file is not None:
        raise BadInput("both tasks and --all-from were given", hint="Give one of them.")
    fleet = control.opened()
    chosen = list(ids) if file is None else ids_in(file, fleet)
    asks = not chosen
    now = datetime.now(UTC)
    found = waiting_for_trust(fleet) if asks else trust_tasks(fleet, chosen, now)
    if as_json:
        print_json(found)
        return
    for task in found:
        _show(task, "waits" if asks else "trusted")
    if not found:
        print_line("No task waits to be trusted." if asks else "None of these waited for trust.")


def _trust_remote(directory: str, other: bool) -> None:
    if other:
        raise BadInput("--remote was given with tasks", hint="Give one of them.")
    fleet = control.opened()
    found = trust_upstream(fleet, directory)
    branch = f", branch {one_line(found.branch)}" if found.branch else ""
    click.echo(f"trusted: {found.remote} is {one_line(found.shown)}{branch}")


def _show(task: ForeignTask, word: str) -> None:
    print_line(f"{word}: {task.id}  {one_line(task.title)}")
    for line in task.verify:
        print_line(f"    {one_line(line)}  [in {one_line(task.cwd) or 'its directory'}]")
