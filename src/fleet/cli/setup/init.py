"""`fleet init`: make the home, choose the queue, and say what agents may do and reach."""

import os
import sys
from collections.abc import Mapping

import click

from fleet.cli.live_view import waiting
from fleet.cli.terminal_text import print_line
from fleet.control.init import LAND, PERMISSIONS, SANDBOX, WORK_IN, init
from fleet.home import home_from

_BOX = "Agents run in a box: they write their task's own directories only, and see no keys."
_WORK_IN = {
    "clone": "In git each task works in a clone of its own. In the project itself:",
    "directory": "Agents work in the project's directory itself. In clones:",
}
_LAND = {
    "auto": "Checked work reaches your branch, and other work waits for you. To approve all:",
    "ask": "Finished work reaches your branch once you approve it: fleet land. Unasked:",
    "branch": "Finished work stays on the branch fleet/<id>. To have it reach your branch:",
}
#: The setting to change, by the value that the home has.
_INSTEAD = {
    "clone": "work_in=directory", "directory": "work_in=clone", "auto": "land=ask",
    "ask": "land=auto", "branch": "land=auto",
}  # fmt: skip


@click.command("init")
@click.option("--force", is_flag=True, help="Set the queue up again even if it is there.")
@click.option(
    "--queue",
    metavar="embedded|beads|postgresql://…|-",
    help="Where tasks live; -: an address from standard input, for one with a password. Default:"
    " beads if bd is on PATH, otherwise embedded.",
)
@click.option(
    "--permissions",
    type=click.Choice(PERMISSIONS.choices),
    help="What agents may do. A new home asks on a terminal, and takes edit elsewhere.",
)
@click.option(
    "--work-in",
    type=click.Choice(WORK_IN.choices),
    help="Where agents work in git. A new home gets clone.",
)
@click.option(
    "--land",
    type=click.Choice(LAND.choices),
    help="What becomes of a clone's finished work. A new home gets auto: it reaches its branch.",
)
@click.option(
    "--sandbox",
    type=click.Choice(SANDBOX.choices),
    help="The box around agents. A new home gets workspace where a box works.",
)
def command(
    force: bool,
    queue: str | None,
    permissions: str | None,
    work_in: str | None,
    land: str | None,
    sandbox: str | None,
) -> None:
    """Make the fleet home ($FLEET_HOME, default ~/.fleet). Safe to run again."""
    home = home_from(os.environ)
    given = sys.stdin.readline().strip() if queue == "-" else queue
    made = init(
        home, queue=given, permissions=permissions, force=force, ask=_ask,
        sandbox=sandbox, work_in=work_in, land=land, ask_box=_ask_box, waiting=waiting,
    )  # fmt: skip
    if made.warning:
        print_line(f"Warning: {made.warning}", err=True)
    print_line(f"Fleet home initialized at {home.path}")
    print_line(f"Queue: {made.queue}")
    print_line(f"Permissions: {made.permissions}")
    print_line(f"Sandbox: {made.sandbox}")
    if made.sandbox != "off":
        print_line(f"{_BOX} Without: fleet config set sandbox=off", 0)
    elif made.no_box:
        print_line(f"A box cannot be had: {made.no_box}")
        print_line("Then: fleet config set sandbox=workspace")
    print_line(f"Work in: {made.work_in}")
    unboxed = " sandbox=off" if made.sandbox != "off" and made.work_in == "clone" else ""
    print_line(_with_way(_WORK_IN, made.work_in, unboxed), 0)
    if made.work_in == "clone":
        print_line(f"Landing: {made.land}")
        print_line(_with_way(_LAND, made.land), 0)


def _with_way(words: Mapping[str, str], value: str, more: str = "") -> str:
    """What a setting means, and the command that sets another value."""
    return f"{words[value]} fleet config set {_INSTEAD[value]}{more}"


def _ask_box() -> bool:
    """Whether a new home boxes agents: what the person at the terminal says, or yes."""
    return not sys.stdin.isatty() or click.confirm(
        f"{SANDBOX.about}\nRun agents in a box (sandbox = workspace)", default=True
    )


def _ask() -> str:
    """The permissions of a new home: what the person at the terminal says, or the least."""
    if not sys.stdin.isatty():
        return str(PERMISSIONS.default)
    print_line(PERMISSIONS.about, 0)
    choices = click.Choice(PERMISSIONS.choices)
    return str(click.prompt("Permissions", type=choices, default=PERMISSIONS.default))
