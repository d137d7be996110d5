"""`fleet pause`: start no new runs."""

import os

import click

from fleet.cli.terminal_text import print_line
from fleet.control.hosts.hosts_now import other_hosts_go_on
from fleet.control.pause import pause, paused_words
from fleet.home import home_from, open_home
from fleet.schemas.shown_text import one_line


@click.command("pause")
def command() -> None:
    """Start no new runs until `fleet resume`. Those that run go on.

    The pause outlasts a restart of the supervisor.
    """
    # Without the settings, as `fleet stop --all`.
    words = paused_words(pause(open_home(home_from(os.environ))))
    print_line(f"{words} To go on: fleet resume")
    for text in other_hosts_go_on():
        print_line(one_line(text))
