"""`fleet pause`: start no new runs."""

import os

import click

from fleet.cli.print_lines import print_line
from fleet.control.acts.each_act import pause
from fleet.home import home_from, open_home


@click.command("pause")
def command() -> None:
    """Start no new runs until `fleet resume`. Those that run go on.

    It outlasts a restart of the supervisor.
    """
    # Without the settings, as `fleet stop --all`.
    done = pause(open_home(home_from(os.environ)))
    print_line(f"{done.words} To go on: fleet resume")
