"""`fleet init`: make the home, choose its queue, and say what agents may do."""

import os
import shutil
import sys
from collections.abc import Mapping

import click
from msgspec import structs

from fleet import config, control
from fleet.files.atomic_write import write_atomically
from fleet.home import Home, home_from, make_home
from fleet.queue import PREFIX, check_address, without_password

PERMISSIONS = config.KEYS["permissions"]


@click.command("init")
@click.option("--force", is_flag=True, help="Set the queue up again even if it is there.")
@click.option(
    "--queue",
    metavar="embedded|beads|postgresql://…",
    help="Where tasks live. Default: beads if bd is on PATH, otherwise embedded.",
)
@click.option(
    "--permissions",
    type=click.Choice(PERMISSIONS.choices),
    help="What agents may do. A new home asks on a terminal, and takes edit elsewhere.",
)
def command(force: bool, queue: str | None, permissions: str | None) -> None:
    """Make the fleet home ($FLEET_HOME, default ~/.fleet). Safe to run again."""
    home = home_from(os.environ)
    if home.config.exists():
        config.load(home.config)  # a broken file is never built upon
    if queue is not None:
        check_address(queue)
    make_home(home)
    chosen = queue or _queue_of(home)
    allowed = permissions or _permissions_of(home)
    _set_up_queue(home, chosen, force=force)
    # Last: a home never names a queue that could not be opened.
    _record(home, {"queue": chosen, "permissions": allowed})
    click.echo(f"Fleet home initialized at {home.path}")
    click.echo(f"Queue: {without_password(chosen)}")
    click.echo(f"Permissions: {allowed}")


def _queue_of(home: Home) -> str:
    """The queue that the home has, or the best that can be had here."""
    if home.config.exists():
        return config.load(home.config).queue
    return "beads" if shutil.which("bd") else "embedded"


def _permissions_of(home: Home) -> str:
    """What agents may do: what the home says, what a person at a terminal says, or the least."""
    if home.config.exists():
        return config.load(home.config).permissions
    if not sys.stdin.isatty():
        return str(PERMISSIONS.default)
    click.echo(PERMISSIONS.about)
    choices = click.Choice(PERMISSIONS.choices)
    return str(click.prompt("Permissions", type=choices, default=PERMISSIONS.default))


def _record(home: Home, chosen: Mapping[str, str]) -> None:
    """Write runtime.toml, or put what was chosen into the one that is there."""
    if not home.config.exists():
        write_atomically(home.config, config.default_text(**chosen).encode())
        return
    now = config.load(home.config)
    news = {name: value for name, value in chosen.items() if getattr(now, name) != value}
    if news:
        text = config.changed(config.read_text(home.config), news, home.config)
        write_atomically(home.config, text.encode())


def _set_up_queue(home: Home, queue: str, *, force: bool) -> None:
    settings = config.load(home.config) if home.config.exists() else config.Config()
    fleet = control.Control(home, structs.replace(settings, queue=queue))
    if fleet.config.queue == "beads":
        from fleet.queue.beads.bd_cli.bd_init import init_beads
        from fleet.queue.beads.bd_cli.bd_version import bd_version, warning

        init_beads(fleet.home.path, prefix=PREFIX, force=force)
        caution = warning(bd_version())
        if caution:
            click.echo(f"Warning: {caution}", err=True)
    assert fleet.queue is not None
    fleet.close()
