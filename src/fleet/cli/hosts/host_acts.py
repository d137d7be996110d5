"""`fleet host`: add a machine, drain a host, let a host go on, give one up, forget one."""

from collections.abc import Callable

import click

from fleet import control
from fleet.cli.hosts import host_add
from fleet.control import Control
from fleet.control.hosts import act_on_host
from fleet.schemas import Host
from fleet.schemas.shown_text import counted


@click.group("host")
def command() -> None:
    """Look after the machines that share the queue. What each does: fleet hosts."""


command.add_command(host_add.command)


@command.command()
@click.argument("name")
def drain(name: str) -> None:
    """Let a host finish what it has, and take nothing new until `resume`: before an upgrade."""
    host = _act(name, act_on_host.drain)
    click.echo(f"{host.name} takes nothing new. To go on: fleet host resume {host.name}")


@command.command()
@click.argument("name")
def resume(name: str) -> None:
    """Let a drained host take tasks again."""
    click.echo(f"{_act(name, act_on_host.resume).name} takes tasks again.")


@command.command()
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing.")
def lost(name: str, yes: bool) -> None:
    """Give a host up that will not come back: other hosts begin its tasks at once.

    You vouch for it that its agents are dead: without that, wait until their leases end.
    """
    if not yes:
        question = f"Is host {name} off for certain? Agents that live on there would work twice."
        click.confirm(question, abort=True)
    host, freed = act_on_host.lost(control.opened(), name)
    tasks = counted(len(freed), "task")
    click.echo(f"{host.name} is given up. {tasks} can begin elsewhere: {', '.join(freed) or '-'}")


@command.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget a host that is gone and holds no task."""
    click.echo(f"{_act(name, act_on_host.remove).name} is forgotten.")


def _act(name: str, act: Callable[[Control, str], Host]) -> Host:
    return act(control.opened(), name)
