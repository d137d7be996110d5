"""`fleet ready`: the tasks that could be worked on now."""

from fleet import control
from fleet.bd.pflag import Flag, Parsed
from fleet.cli.fast_path import Quick
from fleet.cli.terminal_text import folded, one_line
from fleet.control import Control
from fleet.control.queue.ready_tasks import why_not_begun
from fleet.errors import BadInput, InvalidTask
from fleet.schemas import Task

LIMIT = 50


def ready(line: Parsed) -> int:
    limit = line.number("limit", LIMIT)
    if limit < 1:
        raise BadInput(f"--limit must be 1 or more, not {limit}")
    fleet = control.opened()
    tasks = fleet.ready(limit)
    if line.switch("json"):
        from fleet.cli.json_output import pretty, task_shape

        print(pretty([task_shape(fleet, task) for task in tasks]))
        return 0
    if not tasks:
        print("No ready tasks.")
    for task in tasks:
        try:
            where = fleet.place(task).cwd
        except InvalidTask as error:
            where = error.message
        waits = why_not_begun(fleet, task, where) or _until(fleet, task)
        shown = f"{task.id}  {one_line(task.title)}  [{one_line(where)}]"
        print(folded(f"{shown}  {one_line(waits)}" if waits else shown, 2))
    return 0


def _until(fleet: Control, task: Task) -> str:
    """Until when fleet has put off a task that is ready otherwise; empty if not put off."""
    if task.not_before is None:
        return ""
    from datetime import datetime

    from fleet.control.queue.needs_person import untrusted_coder

    if coder := untrusted_coder(fleet, task):
        return f"waits for the coder {coder}, which is not trusted: fleet coders trust {coder}"

    from fleet.cli.terminal_text import moment

    now = datetime.now().astimezone()
    when = moment(task.not_before, now)
    return f"waits until {when}: fleet show {task.id}" if task.not_before > now else ""


QUICK = Quick(
    name="ready",
    about="List tasks that could be worked on now: id, title and directory, best first."
    " One that waits for an account, a budget or its next attempt says until when; one that fleet"
    " does not begin says why.",
    flags=(
        Flag("limit", "number", "n", help=f"How many at most (default {LIMIT})."),
        Flag("json", "switch", help="A JSON array, with the directory, coder and model of each."),
    ),
    run=ready,
)
