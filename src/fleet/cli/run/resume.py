"""`fleet resume`: the end of `fleet pause`, and of a coder's hold."""

import click

from fleet import control
from fleet.control.supervisor_status import is_supervised, resume


@click.command("resume")
@click.option(
    "--retry-stopped", is_flag=True, help="Try the tasks again that `fleet stop --all` stopped."
)
@click.option(
    "--coder", metavar="NAME", help="Give a coder work again that got none, as its runs failed."
)
def command(retry_stopped: bool, coder: str | None) -> int:
    """Start runs again after `fleet pause` or `fleet stop --all`.

    With --coder: give work to a coder that fleet holds (see `fleet status`), and nothing else.
    """
    from fleet.control.tasks import stop_all

    fleet = control.opened()
    if coder is not None:
        from fleet.control.tasks.retry import give_work

        tasks = give_work(fleet, coder)
        click.echo(f"{coder} gets work again; {len(tasks)} tasks waited for it.")
        return 0
    click.echo("Resumed." if resume(fleet) else "Nothing was paused.")
    code = 0
    if retry_stopped:
        done = stop_all.retry_stopped(fleet)
        if done.again:
            click.echo(f"Tried again: {', '.join(done.again)}")
        for task_id, why in done.not_yet.items():
            click.echo(f"Not yet: {task_id}: {why}", err=True)
        if done.not_yet:
            click.echo("A supervisor has to settle it first: fleet run. Then once more.", err=True)
        code = 1 if done.not_yet else 0
    elif left := stop_all.stopped_tasks(fleet.home):
        click.echo(f"Stopped before and still blocked: {', '.join(left)}")
        click.echo("To go on with them: fleet resume --retry-stopped, or fleet retry ID")
    if not is_supervised(fleet):
        click.echo("No supervisor is running. Start one: fleet run", err=True)
    return code
