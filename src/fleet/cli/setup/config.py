"""`fleet config`: see and change runtime.toml."""

import os
import sys

import click
from msgspec import structs

from fleet import config, control
from fleet.cli import task_ids
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import folded, painted, print_line
from fleet.config import Setting, projects
from fleet.control import Control
from fleet.control.edit_config import set_project_settings, set_settings, shown_settings
from fleet.control.landing.trust_remote import trust_upstream
from fleet.control.task_directory import checked_directory
from fleet.errors import FleetError
from fleet.home import home_from, open_home
from fleet.schemas.shown_text import one_line


@click.group("config")
def command() -> None:
    """Show or change the settings in runtime.toml."""


@command.command("show")
@click.option("--raw", is_flag=True, help="The file as it is, byte for byte.")
@click.option("--json", "as_json", is_flag=True, help="The settings in force as JSON.")
def show(raw: bool, as_json: bool) -> None:
    """Show each setting: value, source (default, file, project) and meaning."""
    if raw:
        home = open_home(home_from(os.environ))
        sys.stdout.buffer.write(home.config.read_bytes())
        return
    fleet = control.opened()
    values = shown_settings(fleet)
    if as_json:
        print_json(values)
        return
    if fleet.config.converted:
        text = f"runtime.toml is of an earlier fleet: {'; '.join(fleet.config.converted)}."
        print_line(f"{text} To have it written so: fleet config set KEY=VALUE, with any key.", 0)
    width = max(len(name) for name in config.KEYS) + 2
    for name, key in config.KEYS.items():
        click.echo(f"{name:<{width}}{values[name]} ({values['sources'][name]})")
        click.echo(painted(f"{'':<{width}}{folded(key.about, width)}", "dim"))
    for pattern, price in fleet.config.prices.items():
        figures = ", ".join(f"{name} {value:g}" for name, value in structs.asdict(price).items())
        click.echo(f"\nprice {one_line(pattern)}\n  {figures} (dollars for a million tokens)")
    for name, account in fleet.config.accounts.items():
        click.echo(f"\naccount {name}")
        for key, value in values["accounts"][name].items():
            if key != "name" and value != "":
                click.echo(f"  {key:<{width - 2}}{getattr(account, key)}")
    for path, project in fleet.config.projects.items():
        click.echo(f"\nproject {path}")
        lists = {name: getattr(project, name) for name in projects.LISTS}
        for name, value in (project.settings | lists).items():
            for line in [value] if isinstance(value, int | str) else value:
                click.echo(f"  {name:<{width - 2}}{line} (project)")


@command.command("set")
@click.argument(
    "assignments",
    metavar="KEY=VALUE...",
    nargs=-1,
    required=True,
    shell_complete=task_ids.assignments,
)
@click.option(
    "--project",
    metavar="DIR",
    help="Only for tasks in this directory and below it; or, for tasks of other hosts, the address"
    " of their repository.",
)
def set_(assignments: tuple[str, ...], project: str | None) -> None:
    """Change settings. Comments and order of the file are kept; a running supervisor follows.

    With --project also verify, pins, scope, setup, share, needs, sandbox_read, sandbox_write,
    sandbox_hosts and setup_hosts, which are lists: all KEY=LINE of one call together make the list,
    KEY+=LINE adds a line to what is there, KEY= empties it. KEY= of any other key leaves it to the
    settings of all projects.
    """
    fleet = control.opened()
    _set(fleet, assignments, project)
    if fleet.config.converted:
        text = f"runtime.toml was of an earlier fleet: {'; '.join(fleet.config.converted)}"
        print_line(text, err=True)


def _set(fleet: Control, assignments: tuple[str, ...], project: str | None) -> None:
    if project is None:
        for name, value in set_settings(fleet, assignments).items():
            click.echo(f"{name} = {value}")
        return
    named = projects.is_address(project)
    directory = project if named else checked_directory(project, "--project")
    for name, change in set_project_settings(fleet, directory, assignments).items():
        replaced = isinstance(change.before, list) and change.before not in ([], change.now)
        was = f"  (before: {_words(change.before)})" if replaced else ""
        print_line(f"{name} {_words(change.now, '= ')}  [{directory}]{was}")
        if name == "land_to" and change.now in ("push", "pr"):
            _trust_remote(directory)


def _words(value: Setting | list[str] | None, head: str = "") -> str:
    if value is None:
        return "is as for all projects"
    if isinstance(value, list):
        return head + ("; ".join(map(one_line, value)) or "nothing")
    return f"{head}{value}"


def _trust_remote(directory: str) -> None:
    """The person who has work pushed sees where to, and has said so by that."""
    try:
        found = trust_upstream(control.opened(), directory)
    except FleetError as error:
        print_line(f"not set up yet: {one_line(error.message)}. {one_line(error.hint)}")
    else:
        print_line(f"fleet pushes to {one_line(found.shown)}, branch {one_line(found.branch)}")
