"""`fleet init`: make the home, choose the queue, and say what agents may do and reach."""

import os
import sys

import click

from fleet.cli.live_view import waiting
from fleet.cli.terminal_text import print_line
from fleet.control.init import LAND, PERMISSIONS, SANDBOX, InitializedHome, init
from fleet.home import home_from

_BOX = (
    "Agents run in a box: they write their task's own directories and nothing else, and see no"
    " keys, no other tasks and nothing of this home. In the box they work unasked. Without a box:"
    " fleet config set sandbox=off"
)
_LAND = {
    "auto": "In a git project each task works in a clone of its own, and accepted work comes"
    " back to the branch that you had checked out, in your repository alone: nothing is pushed.",
    "ask": "In a git project each task works in a clone of its own, and accepted work comes to"
    " your branch once you approve it: fleet land",
}
_ASK_FIRST = "To look at it first: fleet config set land=ask."
_IN_PLACE = "To have agents work in the directory itself: fleet config set land=off"


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
    "--land",
    type=click.Choice(LAND.choices),
    help="What becomes of accepted work in git. A new home gets auto: it reaches its branch.",
)
@click.option(
    "--sandbox",
    type=click.Choice(SANDBOX.choices),
    help="The box around agents. A new home gets workspace where a box works.",
)
def command(
    force: bool, queue: str | None, permissions: str | None, land: str | None, sandbox: str | None
) -> None:
    """Make the fleet home ($FLEET_HOME, default ~/.fleet). Safe to run again."""
    home = home_from(os.environ)
    given = sys.stdin.readline().strip() if queue == "-" else queue
    made = init(
        home, queue=given, permissions=permissions, force=force, ask=_ask,
        sandbox=sandbox, land=land, ask_box=_ask_box, waiting=waiting,
    )  # fmt: skip
    if made.warning:
        print_line(f"Warning: {made.warning}", err=True)
    print_line(f"Fleet home initialized at {home.path}")
    print_line(f"Queue: {made.queue}")
    print_line(f"Permissions: {made.permissions}")
    print_line(f"Sandbox: {made.sandbox}")
    if made.sandbox != "off":
        print_line(_BOX, 0)
    elif made.no_box:
        print_line(f"A box cannot be had: {made.no_box}")
        print_line("Then: fleet config set sandbox=workspace")
    print_line(f"Landing: {made.land}")
    if made.land != "off":
        print_line(_landing(made), 0)


def _landing(made: InitializedHome) -> str:
    """What landing means, and how to have agents work in the project's directory instead."""
    unboxed = "" if made.sandbox == "off" else " sandbox=off"
    parts = [_LAND[made.land], _ASK_FIRST if made.land == "auto" else "", f"{_IN_PLACE}{unboxed}"]
    return " ".join(part for part in parts if part)


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
