"""`fleet pause`: let nothing new begin."""

import click

from fleet import control
from fleet.control.pause import pause


@click.command("pause")
def command() -> None:
    """Start no new runs until `fleet resume`. Those that run go on.

    It outlasts a restart of the supervisor.
    """
    fleet = control.opened()
    said = "Paused" if pause(fleet.home) else "Paused already"
    click.echo(f"{said}: no new runs. To go on: fleet resume")
