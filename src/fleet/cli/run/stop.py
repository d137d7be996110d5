"""`fleet stop`: end one task's run, or all of them."""

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.live_view import waiting
from fleet.cli.task_ids import completer
from fleet.cli.terminal_text import print_line
from fleet.control import Control
from fleet.errors import BadInput, ConfigError
from fleet.home import Home, home_from, open_home
from fleet.schemas.shown_text import one_line

if TYPE_CHECKING:
    from fleet.control.tasks.stop import StopEnd


@click.command("stop")
@click.argument("task_ids", metavar="[ID]...", nargs=-1, shell_complete=completer("in_progress"))
@click.option("--all", "everything", is_flag=True, help="Every run of this home, and pause.")
@click.option("--now", is_flag=True, help="Kill at once instead of letting it end by itself.")
@click.option("--json", "as_json", is_flag=True, help="How it went, as a JSON object.")
def command(task_ids: tuple[str, ...], everything: bool, now: bool, as_json: bool) -> int:
    """Stop a task's agent (or several), with all that it started, and block the task.

    The agent has grace_s seconds (runtime.toml) to end by itself. `fleet retry` puts the task back.

    With --all no new run begins until `fleet resume`. `fleet stop --all --now` is the emergency
    brake: it needs neither a supervisor nor a queue that answers.

    Exit code: 0 all of it is gone, 1 something is left.
    """
    if task_ids and everything:
        raise BadInput(f"both {task_ids[0]} and --all were given", hint="Give one of them.")
    if not task_ids and not everything:
        raise BadInput("give a task's id, or --all", hint="See the runs: fleet tasks")
    if everything:
        # Without the settings: a typing error in runtime.toml must not keep agents running.
        home = home_from(os.environ)
        if home.path.exists():
            open_home(home)
        return _all(home, now=now, as_json=as_json)
    try:
        fleet = control.opened()
    except ConfigError as error:
        if not now:
            stays = f"To stop it all the same, with these settings: fleet stop {task_ids[0]} --now"
            raise ConfigError(error.message, hint=f"{error.hint} {stays}".strip()) from None
        print_line(f"The settings cannot be read: {error.message}", err=True)
        from fleet.control.tasks.stop import stop_blindly

        home = open_home(home_from(os.environ))
        return max(
            _print_end(home, stop_blindly(home, task_id), as_json=as_json) for task_id in task_ids
        )
    return max(_one(fleet, task_id, now=now, as_json=as_json) for task_id in task_ids)


def _one(fleet: Control, task_id: str, *, now: bool, as_json: bool) -> int:
    from fleet.control.tasks.stop import stop

    with waiting(f"{task_id} ends", quiet=as_json):
        end = stop(fleet, task_id, now=now, say=partial(print_line, err=True))
    return _print_end(fleet.home, end, as_json=as_json)


def _print_end(home: Home, end: "StopEnd", *, as_json: bool) -> int:
    """Say how a stop went; the exit code."""
    from fleet.control.status import is_supervised

    if as_json:
        print_json(end)
        return 0 if end.ended else 1
    if not end.ended:
        print_line(end.words, err=True)
        print_line(f"See it: fleet tasks. Kill it: fleet stop {end.task_id} --now", err=True)
        return 1
    print_line(end.words)
    if not end.settled and is_supervised(home):
        print_line("The supervisor has not taken note of it yet: fleet status")
    elif not end.settled:
        print_line("No supervisor is running: the task is settled when one starts (fleet run).")
    return 0


def _all(home: Home, *, now: bool, as_json: bool) -> int:
    from fleet.control.hosts.hosts_now import other_hosts_go_on
    from fleet.control.status import is_supervised
    from fleet.control.tasks.stop_all import stop_all

    with waiting("all runs end", quiet=as_json):
        end = stop_all(home, now=now)
    if as_json:
        print_json(end)
        return 0 if end.gone else 1
    print_line(end.words)
    for run in end.runs:
        if not run.gone:
            pids = ", ".join(map(str, run.left))
            print_line(f"could not kill {run.task_id}: processes {pids} are still alive.", err=True)
    if not end.paused:
        _tell_of_gone_home(home, found=bool(end.runs))
        return 0 if end.gone and end.runs else 4
    print_line("Paused: no new runs. To go on: fleet resume")
    if end.runs:
        if is_supervised(home):
            print_line("The stopped tasks are blocked.")
        else:
            print_line("No supervisor is running: one settles the stopped tasks first (fleet run).")
        print_line(
            "To go on with them too: fleet resume --retry-stopped; with one of them: fleet retry ID"
        )
    for text in other_hosts_go_on():
        print_line(one_line(text))
    return 0 if end.gone else 1


def _tell_of_gone_home(home: Home, *, found: bool) -> None:
    """What is left to do where the home is not there any more."""
    print_line(f"There is no fleet home at {one_line(str(home.path))}.", err=True)
    if found:
        print_line("Its agents were found by their environment. Put the home back from a back-up,")
        print_line("or make a new one: fleet init. A supervisor that still runs ends by: kill PID")
    else:
        print_line("If FLEET_HOME is right and agents still run, end them by: kill PID", err=True)
