"""`fleet init`: make the home and choose its queue."""

import os
import shutil

import click

from fleet import config, control, taskdir
from fleet.cli.config import without_password
from fleet.queue import PREFIX, check_address
from fleet.taskdir import Home
from fleet.taskdir.atomic import write_atomically


@click.command("init")
@click.option("--force", is_flag=True, help="Set the queue up again even if it is there.")
@click.option(
    "--queue",
    metavar="embedded|beads|postgresql://…",
    help="Where tasks live. Default: beads if bd is on PATH, otherwise embedded.",
)
def command(force: bool, queue: str | None) -> None:
    """Make the fleet home ($FLEET_HOME, default ~/.fleet). Safe to run again."""
    home = taskdir.home_from(os.environ)
    if home.config.exists():
        config.load(home.config)  # a broken file is never built upon
    if queue is not None:
        check_address(queue)
    taskdir.make(home)
    _configure(home, queue)
    fleet = control.opened()
    _set_up_queue(fleet, force=force)
    fleet.close()
    click.echo(f"Fleet home initialized at {home.path}")
    click.echo(f"Queue: {without_password(fleet.config.queue)}")


def _configure(home: Home, queue: str | None) -> None:
    """Write runtime.toml, or record another queue in the one that is there."""
    if not home.config.exists():
        chosen = queue or ("beads" if shutil.which("bd") else "embedded")
        write_atomically(home.config, config.default_text(queue=chosen).encode())
    elif queue is not None and config.load(home.config).queue != queue:
        text = config.changed(config.read_text(home.config), {"queue": queue}, home.config)
        write_atomically(home.config, text.encode())


def _set_up_queue(fleet: control.Control, *, force: bool) -> None:
    if fleet.config.queue == "beads":
        from fleet.queue.beads.init import init_beads
        from fleet.queue.beads.version import bd_version, warning

        init_beads(fleet.home.path, prefix=PREFIX, force=force)
        caution = warning(bd_version())
        if caution:
            click.echo(f"Warning: {caution}", err=True)
    assert fleet.queue is not None
