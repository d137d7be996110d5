"""`fleet service`: keep a supervisor as a service of the login."""

import os

import click

from fleet import control
from fleet.cli.live_view import waiting
from fleet.cli.terminal_text import print_line
from fleet.control.supervise import service


@click.group("service")
def command() -> None:
    """Keep a supervisor running as a systemd service of your user.

    The service begins with your login, is started again when it fails, and leaves agents alone when
    it does: the next supervisor adopts them.
    """


@command.command("install")
@click.option("--print", "only_print", is_flag=True, help="Print the unit, and write nothing.")
def install(only_print: bool) -> None:
    """Write the unit, start the supervisor now, and with each login.

    The unit keeps the PATH of this shell, so that it finds your agents' programs: install it again
    after one moved.
    """
    fleet = control.opened()
    if only_print:
        click.echo(service.unit_text(fleet, os.environ), nl=False)
        return
    with waiting("systemd starts the service"):
        done = service.install(fleet, os.environ)
    print_line(f"Installed {done.path}, and started it. See: fleet status")
    if done.lingers is False:
        print_line("It ends with your last login. To have it outlive that: loginctl enable-linger")


@command.command("remove")
def remove() -> None:
    """Stop the service and all agents, whose tasks go back, and remove the unit."""
    with waiting("systemd ends the service"):
        path = service.remove(control.opened(), os.environ)
    print_line(f"Removed {path}")
