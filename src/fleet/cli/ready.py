"""`fleet ready`: what could be worked on now."""

from fleet import control
from fleet.cli.quick import Quick
from fleet.cli.text import one_line
from fleet.errors import BadInput, InvalidTask
from fleet.flags import Flag, Parsed

LIMIT = 50


def ready(line: Parsed) -> int:
    limit = line.number("limit", LIMIT)
    if limit < 1:
        raise BadInput(f"--limit must be 1 or more, not {limit}")
    fleet = control.opened()
    tasks = fleet.ready(limit)
    if line.switch("json"):
        from fleet.cli.shapes import tasks_json

        print(tasks_json(fleet, tasks))
        return 0
    if not tasks:
        print("No ready tasks.")
    for task in tasks:
        try:
            where = fleet.place(task).cwd
        except InvalidTask as error:
            where = error.message
        print(f"{task.id}  {one_line(task.title)}  [{one_line(where)}]")
    return 0


QUICK = Quick(
    name="ready",
    about="List tasks that could be worked on now: id, title and directory, best first.",
    flags=(
        Flag("limit", "number", "n", help=f"How many at most (default {LIMIT})."),
        Flag("json", "switch", help="A JSON array, with the directory, coder and model of each."),
    ),
    run=ready,
)
