"""`fleet demo`: see it work before you trust it with anything."""

import shutil
import sys
from pathlib import Path

import click


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the demo's home and project for you to look at.")
def command(keep: bool) -> int:
    """Watch fleet work through a small project with simulated agents.

    The queue, the supervisor and all processes are real; the agents are scripts. One crashes, one
    asks, one hits a limit, one fills its context, one forgets to say that it is done; and somebody
    kills the supervisor. It needs git, no account and no network, and takes less than half a
    minute in a temporary directory that is removed at the end.

    Exit code: 0 all went as staged, 1 something did not.
    """
    from rich.console import Console

    from fleet.demo.director import Show
    from fleet.demo.screen import screen_for
    from fleet.demo.stage import stage
    from fleet.demo.summary import Line, deviations, kept, next_steps, summary

    width = None if sys.stdout.isatty() else 100
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    screen = screen_for(console)
    with stage(keep=keep) as place:
        try:
            with screen:
                report = Show(place, screen).run()
        except KeyboardInterrupt:
            screen.tell([Line("Interrupted. The agents are being ended.")])
            raise
        screen.tell(summary(report))
    if keep:
        screen.tell(kept(place.sandbox))
    else:
        screen.tell([Line("Its processes are ended, and its home and project removed.")])
    screen.tell(next_steps(_folder_of_fleet()))
    return 1 if deviations(report) else 0


def _folder_of_fleet() -> str:
    """Where this fleet's program lies; empty if the shell finds it by itself."""
    folder = Path(sys.executable).parent
    if shutil.which("fleet"):
        return ""
    return f"$PWD/{folder.relative_to(Path.cwd())}" if Path.cwd() in folder.parents else str(folder)
