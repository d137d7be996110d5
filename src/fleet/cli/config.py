"""`fleet config`: see and change runtime.toml."""

import click
import msgspec

from fleet import config, control, taskdir
from fleet.queue import without_password
from fleet.taskdir.atomic import write_atomically


@click.group("config")
def command() -> None:
    """Show or change the settings in runtime.toml."""


@command.command("show")
@click.option("--raw", is_flag=True, help="The file as it is, byte for byte.")
@click.option("--json", "as_json", is_flag=True, help="The settings in force as JSON.")
def show(raw: bool, as_json: bool) -> None:
    """Show each setting, its value and what it does."""
    if raw:
        import os
        import sys

        home = taskdir.opened(taskdir.home_from(os.environ))
        sys.stdout.buffer.write(home.config.read_bytes())
        return
    fleet = control.opened()
    values = msgspec.to_builtins(fleet.config) | {"queue": without_password(fleet.config.queue)}
    if as_json:
        from fleet.cli.shapes import pretty

        click.echo(pretty(values))
        return
    width = max(len(name) for name in config.KEYS) + 2
    for name, key in config.KEYS.items():
        tag = " (default)" if values[name] == key.default else ""
        click.echo(f"{name:<{width}}{values[name]}{tag}")
        click.secho(f"{'':<{width}}{key.about}", dim=True)


@command.command("set")
@click.argument("assignments", metavar="KEY=VALUE...", nargs=-1, required=True)
def set_(assignments: tuple[str, ...]) -> None:
    """Change settings. Comments and order of the file are kept; a running supervisor follows."""
    fleet = control.opened()
    changes = dict(config.read_assignment(word) for word in assignments)
    fleet.check(changes)
    text = config.read_text(fleet.home.config)
    write_atomically(fleet.home.config, config.changed(text, changes, fleet.home.config).encode())
    for name, value in changes.items():
        shown = str(value)
        click.echo(f"{name} = {without_password(shown) if name == 'queue' else shown}")
