"""`fleet resume`: let runs begin again, or give a held coder work again."""

import click

from fleet import control
from fleet.cli.print_lines import print_line
from fleet.cli.task_ids import coder_names
from fleet.control import Control
from fleet.control.pause import unpause
from fleet.control.status import is_supervised


@click.command("resume")
@click.option(
    "--retry-stopped", is_flag=True, help="Try the tasks again that `fleet stop --all` stopped."
)
@click.option(
    "--coder",
    metavar="NAME",
    help="Give a coder work again that got none, as its runs failed.",
    shell_complete=coder_names,
)
def command(retry_stopped: bool, coder: str | None) -> int:
    """Start runs again after `fleet pause` or `fleet stop --all`.

    With --coder: give work to a coder that fleet holds (see `fleet status`), and nothing else.
    """
    fleet = control.opened()
    if coder is not None:
        from fleet.control.resume import resume_coder

        tasks = resume_coder(fleet, coder)
        print_line(f"{coder} gets work again; {len(tasks)} tasks waited for it.")
        return 0
    print_line("Resumed." if unpause(fleet.home) else "Nothing was paused.")
    code = _stopped(fleet, retry=retry_stopped)
    if not is_supervised(fleet.home):
        print_line("No supervisor is running. Start one: fleet run", err=True)
    return code


def _stopped(fleet: Control, *, retry: bool) -> int:
    """Try the tasks again that `fleet stop --all` stopped, or name them."""
    from fleet.control.tasks import stop_all

    if not retry:
        if left := stop_all.stopped_tasks(fleet.home):
            print_line(f"Stopped before and still blocked: {', '.join(left)}")
            print_line("To go on with them: fleet resume --retry-stopped, or fleet retry ID")
        return 0
    done = stop_all.retry_stopped(fleet)
    if done.again:
        print_line(f"Tried again: {', '.join(done.again)}")
    for task_id, why in done.not_yet.items():
        print_line(f"Not yet: {task_id}: {why}", err=True)
    if done.not_yet:
        print_line("A supervisor has to settle it first: fleet run. Then once more.", err=True)
    return 1 if done.not_yet else 0
