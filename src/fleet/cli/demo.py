"""`fleet demo`: watch fleet work before you trust it with a project."""

import shutil
import sys
from pathlib import Path

import click


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the demo's home and project for you to look at.")
def command(keep: bool) -> int:
    """Watch fleet work through a small project with simulated agents.

    The queue, the supervisor and all processes are real; the agents are scripts. One crashes, one
    asks, one hits a limit, one fills its context, one forgets to say that it is done; and the
    supervisor is killed. The demo needs git, no account and no network, and takes less than half a
    minute in a temporary directory that is removed at the end.

    Exit code: 0 all went as staged, 1 something did not.
    """
    from rich.console import Console
    from rich.text import Text

    from fleet.demo.run_demo import Demo
    from fleet.demo.sandbox import sandbox
    from fleet.demo.screen import Screen
    from fleet.demo.summary import deviations, next_steps, summary

    width = None if sys.stdout.isatty() else 100
    screen = Screen(Console(width=width, highlight=False, markup=False, emoji=False))
    with sandbox(keep=keep) as box:
        try:
            with screen:
                report = Demo(box, screen).run()
        except KeyboardInterrupt:
            screen.print([Text("Interrupted. The agents are being ended.")])
            raise
        screen.print(summary(report))
    if keep:
        kept = (f"project  {box.project}", f"home     {box.home.path}")
        look = f"look     FLEET_HOME={box.home.path} fleet bd list --all"
        screen.print([Text(), Text("Kept", "bold"), *(Text(f"  {line}") for line in (*kept, look))])
    else:
        screen.print([Text("Its processes are ended, and its home and project removed.")])
    screen.print(next_steps(_folder_of_fleet()))
    return 1 if deviations(report) else 0


def _folder_of_fleet() -> str:
    """The directory of this fleet's program; empty if PATH leads to a fleet already."""
    folder = Path(sys.executable).parent
    if shutil.which("fleet"):
        return ""
    return f"$PWD/{folder.relative_to(Path.cwd())}" if Path.cwd() in folder.parents else str(folder)
