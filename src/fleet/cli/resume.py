"""`fleet resume`: the end of `fleet pause`."""

import click

from fleet import control
from fleet.control.supervision import is_supervised, resume


@click.command("resume")
def command() -> None:
    """Start runs again after `fleet pause`."""
    fleet = control.opened()
    click.echo("Resumed." if resume(fleet) else "Nothing was paused.")
    if not is_supervised(fleet):
        click.echo("No supervisor is running. Start one: fleet run", err=True)
