"""`fleet plan`: look at a spec, and make tasks of it."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

import click

from fleet import control
from fleet.cli.json_output import print_json, task_shape
from fleet.cli.plan.plan_page import plan_page, uncommitted_words, written_page
from fleet.cli.task_ids import coder_names, given_text, task_id
from fleet.control import Control
from fleet.control.plan.apply import WrittenPlan, apply
from fleet.control.plan.load_plan import load_spec
from fleet.control.plan.plan_view import PlanView, plan_view
from fleet.control.plan.write import (
    approve,
    cancel,
    check_not_approved,
    load_proposed,
    revise,
    write_goal,
)
from fleet.errors import BadInput, NotFound, Refused
from fleet.schemas import Task
from fleet.schemas.shown_text import one_line


def _spec_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """What says where a spec is, and how to read it."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="All of it as one JSON object."),
        click.option("--tag", default="", metavar="NAME", help="Which list of a tasks.json."),
        click.option("--format", "format_", default="", metavar="NAME", help="Read it as this."),
        click.option("--cwd", metavar="DIR", help="The project; else the spec's repository."),
    ):
        command = option(command)
    return command


_SPEC = click.argument("spec", metavar="SPEC", type=click.Path())
_YES = click.option("--yes", is_flag=True, help="Do not ask; its verify commands may run then.")


@click.group("plan")
def command() -> None:
    """Make tasks of a spec: look at it with `show`, then `apply` it.

    Without a spec, `write` has an agent write a plan for a goal, which you `approve`, `revise` or
    `cancel`.

    SPEC is a file, or the directory of one spec, of sddw, spec-kit, OpenSpec, Kiro, task-master or
    beads (bd create --graph), a Markdown check list, or a plan of fleet's own:

    \b
    format = "fleet.plan/1"
    title = "Password reset"
    verify = ["make test"]              # checks the whole, at the end
    [[task]]
    key = "model"
    title = "Store reset tokens"
    body = "What the agent has to know."
    [[task]]
    key = "mail"
    title = "Send the mail"
    body = "…"
    after = ["model"]
    """  # noqa: D301 - the \\b is click's mark for lines that stay as they are


@command.command("show")
@_SPEC
@_spec_flags
def show(spec: str, cwd: str | None, format_: str, tag: str, as_json: bool) -> None:
    """Show the tasks of a spec by waves, and what applying it would change. Writes nothing.

    Instead of a SPEC: the ID of a task whose agent wrote a plan.
    """
    fleet = control.opened()
    task = _plan_task(fleet, spec)
    if task is not None:
        view = plan_view(fleet, load_proposed(fleet, task))
        line = f"fleet plan approve {task.id}"
    else:
        view = plan_view(fleet, load_spec(fleet, spec, cwd=cwd, format_=format_, tag=tag))
        line = f"fleet plan apply {quote(spec)}"
    if as_json:
        print_json(view)
        return
    for each in plan_page(view, line):
        click.echo(each)


@command.command("apply")
@_SPEC
@_spec_flags
@_YES
@click.option("--prune", is_flag=True, help="Close tasks that are gone from it, if never begun.")
def apply_(
    spec: str, cwd: str | None, format_: str, tag: str, as_json: bool, yes: bool, prune: bool
) -> None:
    """Make the tasks of a spec: an epic, its tasks in their order, an acceptance task at the end.

    Applied again, it changes what is not begun and leaves the rest alone. What the spec proposes as
    verify commands is shown first, and is trusted when you apply it.
    """
    fleet = control.opened()
    loaded = load_spec(fleet, spec, cwd=cwd, format_=format_, tag=tag)
    view = plan_view(fleet, loaded)
    if not yes and view.changes.writes + prune * len(view.gone):
        look = f"fleet plan show {quote(spec)}. Then: fleet plan apply {quote(spec)} --yes"
        _confirm(view, look, as_json=as_json)
    for line in uncommitted_words(view) if yes else ():
        click.echo(line, err=True)
    _print_written(apply(fleet, loaded, datetime.now(UTC), prune=prune), as_json=as_json)


@command.command("write")
@click.argument("goal", metavar="GOAL.md", type=click.Path())
@click.option("--cwd", metavar="DIR", help="The project; else the repository that the file is in.")
@click.option("--coder", help="The coder that writes it.", shell_complete=coder_names)
@click.option("--model", help="Its model.")
@click.option("--json", "as_json", is_flag=True, help="The task as JSON.")
def write(goal: str, cwd: str | None, coder: str | None, model: str | None, as_json: bool) -> None:
    """Have an agent write a plan for the goal in a file; you approve, revise or cancel the plan.

    Writing the plan is a task like others, which `fleet run` works on. Once the plan can be made
    into tasks it waits for you in `fleet questions`.
    """
    fleet = control.opened()
    new = write_goal(fleet, goal, cwd=cwd, coder=coder, model=model)
    (task,) = new.tasks
    for trouble in new.troubles:
        click.echo(f"Warning: {one_line(trouble)}", err=True)
    if as_json:
        print_json(task_shape(fleet, task))
        return
    click.echo(f"Created {task.id}: {one_line(task.title)}  [cwd: {one_line(task.cwd or '')}]")
    click.echo(f"When its agent is done: fleet plan show {task.id}")


@command.command("approve")
@task_id("blocked")
@_YES
@click.option("--json", "as_json", is_flag=True, help="What was made, as JSON.")
def approve_(task_id: str, yes: bool, as_json: bool) -> None:
    """Make the tasks of a plan that an agent wrote."""
    fleet = control.opened()
    task = fleet.get(task_id)
    loaded = load_proposed(fleet, task)
    check_not_approved(fleet, task, loaded)
    if not yes:
        look = f"fleet plan show {task.id}. Then: fleet plan approve {task.id} --yes"
        _confirm(plan_view(fleet, loaded), look, as_json=as_json)
    _print_written(approve(fleet, task, loaded), as_json=as_json)


@command.command("revise")
@task_id("blocked")
@click.argument("text")
def revise_(task_id: str, text: str) -> None:
    """Send a plan back to the agent that wrote it; TEXT says what to change (`-`: from stdin)."""
    fleet = control.opened()
    task = revise(fleet, fleet.get(task_id), given_text(text))
    click.echo(f"{task.id} is open again: its session goes on with what you said.")


@command.command("cancel")
@task_id("blocked")
def cancel_(task_id: str) -> None:
    """Close the task of a plan that is not wanted; nothing is made of the plan."""
    fleet = control.opened()
    click.echo(f"Closed {cancel(fleet, fleet.get(task_id)).id}; nothing was made of its plan.")


def _plan_task(fleet: Control, word: str) -> Task | None:
    """The task that a word names, unless it names a file."""
    if Path(word).expanduser().exists() or "/" in word:
        return None
    try:
        return fleet.get(word)
    except (NotFound, BadInput):
        return None


def _confirm(view: PlanView, look: str, *, as_json: bool) -> None:
    """Have a person look at the plan and say yes."""
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = f"Look at it: {look}"
        raise Refused("a plan is made into tasks by a person who has seen it", hint=hint)
    for line in plan_page(view, ""):
        click.echo(line)
    if not click.confirm("\nMake these tasks?"):
        click.echo("Nothing was made.")
        raise click.exceptions.Exit(1)


def _print_written(written: WrittenPlan, *, as_json: bool) -> None:
    if as_json:
        print_json(written)
        return
    for line in written_page(written):
        click.echo(line)
