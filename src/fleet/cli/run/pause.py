"""`fleet pause`: start no new runs."""

import click

from fleet import control
from fleet.cli.print_lines import print_line
from fleet.control.pause import pause


@click.command("pause")
def command() -> None:
    """Start no new runs until `fleet resume`. Those that run go on.

    It outlasts a restart of the supervisor.
    """
    fleet = control.opened()
    what = "Paused" if pause(fleet.home) else "Paused already"
    print_line(f"{what}: no new runs. To go on: fleet resume")
