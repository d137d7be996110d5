"""`fleet init`: make the home, choose its queue, and say what agents may do."""

import os
import sys

import click

from fleet.control.init import PERMISSIONS, init
from fleet.home import home_from


@click.command("init")
@click.option("--force", is_flag=True, help="Set the queue up again even if it is there.")
@click.option(
    "--queue",
    metavar="embedded|beads|postgresql://…",
    help="Where tasks live. Default: beads if bd is on PATH, otherwise embedded.",
)
@click.option(
    "--permissions",
    type=click.Choice(PERMISSIONS.choices),
    help="What agents may do. A new home asks on a terminal, and takes edit elsewhere.",
)
def command(force: bool, queue: str | None, permissions: str | None) -> None:
    """Make the fleet home ($FLEET_HOME, default ~/.fleet). Safe to run again."""
    home = home_from(os.environ)
    made = init(home, queue=queue, permissions=permissions, force=force, ask=_ask)
    if made.warning:
        click.echo(f"Warning: {made.warning}", err=True)
    click.echo(f"Fleet home initialized at {home.path}")
    click.echo(f"Queue: {made.queue}")
    click.echo(f"Permissions: {made.permissions}")


def _ask() -> str:
    """The permissions of a new home: what the person at the terminal says, or the least."""
    if not sys.stdin.isatty():
        return str(PERMISSIONS.default)
    click.echo(PERMISSIONS.about)
    choices = click.Choice(PERMISSIONS.choices)
    return str(click.prompt("Permissions", type=choices, default=PERMISSIONS.default))
