"""`fleet top`: watch and steer on the whole screen."""

import os
import sys
from datetime import UTC, datetime

import click

from fleet import control
from fleet.errors import BadInput


@click.command("top")
@click.option("--read-only", is_flag=True, help="Look only: no key changes anything.")
def command(read_only: bool) -> None:
    """Watch and steer on the whole screen: what needs you, what runs, what waits and why.

    \b
    j k Enter Esc   move, open, back        1-5   now, questions, timeline, usage, log
    e l d p         receipt, transcript, diff, plan of the task
    a t s r         answer, tell, stop, retry
    / :  ?          filter, command, all keys                q   quit

    The screen works with and without a supervisor, by keys and by mouse. At the end two lines say
    what runs and what waits for you.
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise BadInput("fleet top needs a terminal", hint="For a program: fleet tasks --all --json")
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        raise BadInput(
            "this terminal (TERM) cannot show a whole screen",
            hint="What such a terminal can show: fleet tasks --all, or fleet tasks --watch",
        )
    for name in ("COLUMNS", "LINES"):  # where they are exported, no resize would be noticed
        os.environ.pop(name, None)
    control.opened()  # a home that is missing or broken is told before the screen is taken
    from fleet.tui.app import TopApp
    from fleet.tui.status_lines import exit_lines

    app = TopApp(control.opened, read_only=read_only)
    app.run()
    for line in exit_lines(app.now, datetime.now(UTC)):
        click.echo(line)
