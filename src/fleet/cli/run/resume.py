"""`fleet resume`: let runs begin again, or give the held logins of a coder work again."""

import click

from fleet import control
from fleet.cli.task_ids import coder_names
from fleet.cli.terminal_text import print_line
from fleet.control import Control
from fleet.control.pause import unpause, unpaused_words
from fleet.control.resume import resume_coder
from fleet.control.status import is_supervised
from fleet.control.tasks.stop_all import stopped_tasks, try_stopped
from fleet.home import Home


@click.command("resume")
@click.option(
    "--retry-stopped", is_flag=True, help="Try the tasks again that `fleet stop --all` stopped."
)
@click.option(
    "--coder",
    metavar="NAME",
    help="Give all held logins of a coder work again.",
    shell_complete=coder_names,
)
def command(retry_stopped: bool, coder: str | None) -> int:
    """Start runs again after `fleet pause` or `fleet stop --all`.

    With --coder: give work to logins that fleet holds (see `fleet status`), and nothing else.
    """
    fleet = control.opened()
    if coder is not None:
        print_line(resume_coder(fleet, coder))
        return 0
    print_line(unpaused_words(unpause(fleet.home)))
    code = _retry(fleet) if retry_stopped else _tell_of_stopped(fleet.home)
    if not is_supervised(fleet.home):
        print_line("No supervisor is running. Start one: fleet run", err=True)
    return code


def _tell_of_stopped(home: Home) -> int:
    """Name the tasks that `fleet stop --all` stopped."""
    if left := stopped_tasks(home):
        print_line(f"Stopped before and still blocked: {', '.join(left)}")
        print_line("To go on with them: fleet resume --retry-stopped, or fleet retry ID")
    return 0


def _retry(fleet: Control) -> int:
    """Try them again, and tell which are; the exit code."""
    done = try_stopped(fleet)
    if done.again:
        print_line(f"Tried again: {', '.join(done.again)}")
    for task_id, why in done.not_yet.items():
        print_line(f"Not yet: {task_id}: {why}", err=True)
    if done.not_yet:
        print_line("A supervisor has to settle it first: fleet run. Then once more.", err=True)
    return 1 if done.not_yet else 0
