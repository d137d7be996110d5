"""`fleet questions`: the tasks whose agent asks something, and tasks that agents propose."""

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import lines, painted, print_line
from fleet.control.queue.needs_person import states_beside
from fleet.control.tasks.questions import Question, questions
from fleet.schemas.shown_text import one_line


@click.command("questions")
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
def command(as_json: bool) -> None:
    """List the tasks whose agent asks something, each with its question; and proposed tasks."""
    fleet = control.opened()
    asked, _ = questions(fleet)
    if as_json:
        print_json(asked)
        return
    if not asked:
        print_line("No questions.")
    for number, question in enumerate(asked):
        _show(question, first=number == 0)
    if any(not question.plan for question in asked):
        print_line('\nAnswer one: fleet answer ID "…"')
    others = states_beside(fleet, {each.id for each in asked})
    if others:
        counts = ", ".join(f"{number} {state}" for state, number in others.items())
        print_line(f"What else needs you: {counts}. See: fleet status")


def _show(question: Question, *, first: bool) -> None:
    if not first:
        print_line()
    head = painted(question.id, "cyan")
    where = painted(f"[{one_line(question.cwd)}]", "dim")
    print_line(f"{head}  {one_line(question.title)}  {where}")
    if question.waiting:
        print_line(painted("its agent waits for the answer", "yellow"))
    if question.note not in question.question:  # the file mostly begins with the same words
        print_line(lines(question.note))
    if question.question:
        print_line(lines(question.question, indent="  | "))
    if question.plan:
        words = (
            f"Look at the plan: fleet plan show {question.id}",
            f"Make its tasks: fleet plan approve {question.id}",
            f'Have it changed: fleet plan revise {question.id} "…"',
            f"Drop it: fleet plan cancel {question.id}",
        )
        for each in words:
            print_line(f"  {each}")
    if question.proposed:
        print_line(f'fleet answer {question.id} accept, or fleet answer {question.id} "refuse WHY"')
