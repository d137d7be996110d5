"""`fleet schedule`: create tasks at set times."""

import shlex
from datetime import UTC, datetime
from pathlib import Path

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import print_line
from fleet.control.supervise import schedule as schedules
from fleet.control.task_directory import checked_directory
from fleet.schemas.shown_text import moment, one_line


@click.group("schedule")
def command() -> None:
    """Create tasks at set times, by lines of cron.

    The supervisor of this home creates them. Moments that came while none was running are made up
    for once.
    """


@command.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("line", metavar="CRON")
@click.argument("words", metavar="-- bd create …", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("--name", help="What to call it; else the task's title does.")
@click.option("--zone", help="The time zone of the line; else this machine's.")
@click.option("--cwd", help="The directory of its tasks; else the one that you are in.")
def add(
    line: str, words: tuple[str, ...], name: str | None, zone: str | None, cwd: str | None
) -> None:
    """Create a task at each moment of CRON: minute hour day month weekday, or @daily.

    \b
    fleet schedule add "0 3 * * *" -- bd create "Update the dependencies" --verify "make test"
    fleet schedule add @weekly --name audit -- bd create --coder codex "Look for dead code"
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are
    fleet = control.opened()
    taken = [each.name for each in schedules.schedules(fleet)]
    made = schedules.add_schedule(
        fleet,
        line,
        words,
        name=name if name is not None else schedules.name_for(words, taken),
        zone=zone or schedules.local_zone(),
        cwd=checked_directory(cwd or str(Path.cwd())),
        now=datetime.now(UTC),
    )
    now = datetime.now().astimezone()
    print_line(f"Added {made.name}: first at {moment(made.due, now)} ({made.zone})  [{made.cwd}]")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
def list_(as_json: bool) -> None:
    """List the schedules: their next moment, the last task, and what kept one from being made."""
    found = schedules.schedules(control.opened())
    if as_json:
        print_json(found)
        return
    now = datetime.now().astimezone()
    for each in found:
        last = f", last {each.last_task}" if each.last_task else ""
        print_line(f"{each.name}: {each.cron} ({each.zone}), next {moment(each.due, now)}{last}", 4)
        print_line(f"    bd create {one_line(shlex.join(each.args))}  [{one_line(each.cwd)}]", 4)
        if each.problem:
            print_line(f"    created no task the last time: {one_line(each.problem)}", 4)
    if not found:
        print_line('No schedules. To add one: fleet schedule add "0 3 * * *" -- bd create "…"')


@command.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Forget a schedule. The tasks that it created stay."""
    schedules.remove_schedule(control.opened(), name)
    print_line(f"Removed {name}")


@command.command("run")
@click.argument("name")
def run(name: str) -> None:
    """Create a schedule's task now, besides the set moments."""
    schedules.run_schedule(control.opened(), name)
    print_line(f"Created a task of {name}. See: fleet ready")
