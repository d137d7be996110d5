"""`fleet restart`: replace the running supervisor by a new one."""

import click

from fleet import control
from fleet.cli.terminal_text import print_line
from fleet.control.supervise.restart import restart


@click.command("restart")
def command() -> None:
    """Swap the running supervisor for a new one, for example after an upgrade.

    Agents run on: the new supervisor adopts them. Settings need no restart.
    """
    holder = restart(control.opened())
    print_line(
        f"Restarted: process {holder.who.pid} supervises since {holder.since.astimezone():%H:%M:%S}"
    )
