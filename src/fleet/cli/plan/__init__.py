"""`fleet plan`: look at a spec, and make tasks of it."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from shlex import quote
from typing import Any

import click

from fleet import control
from fleet.cli.json_output import pretty
from fleet.cli.plan.plan_page import plan_page, written_page
from fleet.control.plan.apply import apply
from fleet.control.plan.load_plan import load_spec
from fleet.control.plan.plan_view import plan_view
from fleet.errors import Refused


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


@click.group("plan")
def command() -> None:
    """Make tasks of a spec: look at it with `show`, then `apply` it.

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
    """Show the tasks of a spec by waves, and what applying it would change. Writes nothing."""
    fleet = control.opened()
    view = plan_view(fleet, load_spec(fleet, spec, cwd=cwd, format_=format_, tag=tag))
    if as_json:
        click.echo(pretty(view))
        return
    for line in plan_page(view, f"fleet plan apply {quote(spec)}"):
        click.echo(line)


@command.command("apply")
@_SPEC
@_spec_flags
@click.option("--yes", is_flag=True, help="Do not ask; its verify commands may run then.")
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
    if not yes:
        writes = view.changes.writes + prune * len(view.gone)
        _confirm(writes, [*plan_page(view, "")], spec=spec, as_json=as_json)
    written = apply(fleet, loaded, datetime.now(UTC), prune=prune)
    if as_json:
        click.echo(pretty(written))
        return
    for line in written_page(written):
        click.echo(line)


def _confirm(writes: int, page: list[str], *, spec: str, as_json: bool) -> None:
    """Have a person look at the plan and say yes; nothing to write is nothing to ask."""
    if not writes:
        return
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused(
            "a plan is applied by a person who has seen it",
            hint=f"Look at it: fleet plan show {quote(spec)}. Then: fleet plan apply"
            f" {quote(spec)} --yes",
        )
    for line in page[:-1]:
        click.echo(line)
    click.confirm("\nMake these tasks?", abort=True)
