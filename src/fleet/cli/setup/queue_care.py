"""`fleet queue`: how the queue stands, the copies, and putting a copy back."""

import sys
from datetime import UTC, datetime

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import print_line
from fleet.control.queue import queue_care
from fleet.errors import BadInput
from fleet.schemas.shown_text import one_line


@click.group("queue")
def command() -> None:
    """Look at the queue as a whole: identity, copies, and how to put a copy back.

    Each day the supervisor copies the embedded queue (on beads: fleet's own ledger of leases) to
    $FLEET_HOME/backups. A queue that is gone, emptied or replaced is refused by every command.
    """


@command.command("status")
@click.option("--json", "as_json", is_flag=True, help="The same as a JSON object.")
def status(as_json: bool) -> int:
    """Say whether the queue is the home's own, and which copies there are.

    Exit code: 0 the queue can be used, 1 it cannot.
    """
    fleet = control.opened()
    seen = queue_care.condition(fleet.home, fleet.config)
    if as_json:
        print_json(seen)
        return 1 if seen.problem else 0
    print_line(f"Queue:     {seen.kind}, {seen.identity[:8] or 'not opened yet'}")
    print_line(f"State:     {one_line(seen.problem) or 'in order'}")
    if seen.hint:
        print_line(f"           {one_line(seen.hint)}")
    print_line(f"Back-up:   {seen.backup}")
    for copy in seen.copies:
        at = copy.at.astimezone()
        print_line(
            f"  {at:%F %H:%M:%S}  {copy.reason:<9} {copy.size >> 10:>8} kB  {copy.path.name}"
        )
    if seen.missing:
        print_line(
            "Missing:   tasks of this home that the queue does not know: it was set back, and"
        )
        print_line("           they were made after the copy that it comes from, or deleted:")
    for each in seen.missing:
        print_line(f"  {each.id}  {one_line(each.title) or '(never ran here)'}  [{each.cwd}]")
        if each.prompt:
            print_line(f"           what it was asked: {one_line(each.prompt)}")
    if seen.missing:
        print_line("           To make one again, in its directory: fleet bd create TITLE …")
    return 1 if seen.problem else 0


@command.command("backup")
def backup() -> None:
    """Copy the queue now, while everything runs on."""
    fleet = control.opened()
    copy = queue_care.back_up(fleet.home, fleet.config, datetime.now(UTC))
    print_line(f"Copied to {one_line(str(copy.path))} ({copy.size >> 10} kB)")


@command.command("restore")
@click.argument("file", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(file: str | None, yes: bool) -> int:
    """Put a copy in the place of the queue: FILE, or the newest copy.

    What stands there now is kept aside. Runs that began after the copy was made are taken over from
    their directories, so that no task is worked on twice. Refused while a supervisor works with a
    queue that is in order; a supervisor whose queue is gone goes on with the restored one.
    """
    fleet = control.opened()
    copy = queue_care.chosen_copy(fleet.home, fleet.config, file)
    print_line(f"Puts {one_line(str(copy))} in the place of the queue of {fleet.home.path}.")
    print_line("What was created or changed since that copy is not in it.")
    if not yes and not _agrees("Go on?"):
        return 1
    done = queue_care.restore(fleet.home, fleet.config, copy, datetime.now(UTC))
    print_line(f"Restored: {done.tasks} tasks.")
    if done.aside is not None:
        print_line(f"What stood there before: {one_line(str(done.aside))}")
    if done.leased:
        print_line(f"Taken over from their last runs: {', '.join(done.leased)}")
    if done.missing:
        print_line(f"Made after the copy, so not in it: {', '.join(done.missing)}")
        print_line(f"What they were asked: {fleet.home.tasks}/<id>/runs/<n>/prompt.md")
    return 0


@command.command("accept")
@click.option("--yes", is_flag=True, help="Do not ask.")
def accept(yes: bool) -> int:
    """Take the queue that stands there for this home's own, whatever queue that is.

    For a queue that was replaced on purpose. Where there is none, a new and empty one is made;
    directories of earlier tasks stay and belong to no task.
    """
    fleet = control.opened()
    if not yes and not _agrees(f"Take what is there now for the queue of {fleet.home.path}?"):
        return 1
    new = queue_care.accept(fleet.home, fleet.config, datetime.now(UTC))
    print_line("Made a new, empty queue." if new else "Taken for this home's queue.")
    return 0


def _agrees(question: str) -> bool:
    """The answer of the person at the terminal. Raises BadInput where there is no terminal."""
    if not sys.stdin.isatty():
        raise BadInput("there is no terminal to ask on", hint="To go on without a question: --yes")
    return click.confirm(question)


@command.command("roles")
def roles() -> None:
    """Print the SQL that makes roles with the least rights for hosts and viewers of a PostgreSQL
    queue: fleet queue roles | psql postgresql://owner@…
    """
    click.echo(queue_care.roles_sql(), nl=False)
