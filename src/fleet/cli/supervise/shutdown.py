"""`fleet shutdown`: end the supervisor and all agents."""

import os

import click

from fleet.cli.live_view import waiting
from fleet.cli.terminal_text import print_line
from fleet.control.supervise.shutdown import shut_down
from fleet.home import home_from, open_home


@click.command("shutdown")
@click.option("--now", is_flag=True, help="Kill the agents instead of asking them to end.")
def command(now: bool) -> None:
    """End the supervisor, wherever started, and stop all agents.

    The agents' tasks go back into the queue, and no attempt is counted. To swap the supervisor for
    a new one while agents run on: fleet restart. To let no new run begin: fleet pause.
    """
    with waiting("the supervisor ends its agents"):
        holder = shut_down(open_home(home_from(os.environ)), now=now)
    print_line(f"Ended: process {holder.who.pid} supervises no more. To go on: fleet run --detach")
