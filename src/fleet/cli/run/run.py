"""`fleet run`: the supervisor."""

import os
import sys

import click

from fleet import control


@click.command("run")
@click.option("--coder", help="The coder of tasks that name none, instead of the configured one.")
@click.option("--until-idle", is_flag=True, help="End once nothing runs and nothing is waiting.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing; the log has it all.")
def command(coder: str | None, until_idle: bool, quiet: bool) -> None:
    """Work through the queue: start an agent for each ready task, and look after it.

    Ctrl-C stops the agents and gives their tasks back; a second one does it at once.
    """
    fleet = control.opened()
    if coder is not None:
        fleet.check_coder(coder)
    from fleet.supervisor.loop import supervise

    def echo(text: str) -> None:
        if not quiet:
            click.echo(text)

    if supervise(fleet.home, fleet.config, coder=coder, until_idle=until_idle, echo=echo):
        # `fleet restart`: the same command line starts a new supervisor, which adopts the agents.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606
