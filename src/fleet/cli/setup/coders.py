"""`fleet coders`: which coders can run on this machine, and which files of coders are trusted."""

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import painted, print_line
from fleet.control.list_coders import CoderHere, coders_here, trust_coders
from fleet.schemas.shown_text import one_line


@click.group("coders", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """List the coders: where each comes from, program and version, and whether it can run.

    Exit code: 0 if at least one can run here, 1 if none can.
    """
    if context.invoked_subcommand is not None:
        return 0
    found = coders_here(control.opened())
    if as_json:
        print_json(found)
    else:
        width = max(len(coder.name) for coder in found)
        for coder in found:
            _show(coder, width)
    return 0 if any(not coder.problem for coder in found) else 1


@command.command("trust")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "every", is_flag=True, help="Every file in the home's `coders` directory.")
def trust(names: tuple[str, ...], every: bool) -> None:
    """Trust the files of coders as they are now: fleet runs their code and their commands.

    Read them first. A file that changes afterwards is not loaded until it is trusted again.
    """
    for path in trust_coders(control.opened(), names, every=every):
        print_line(f"Trusted: {one_line(str(path))}")


def _show(coder: CoderHere, width: int) -> None:
    mark = painted("✗", "red") if coder.problem else painted("✓", "green")
    default = " (default)" if coder.default else ""
    print_line(f"{mark} {coder.name:<{width}}  {one_line(coder.words)}{default}", width + 4)
    where = f"{coder.origin}, {coder.path}" if coder.path else coder.origin
    print_line(painted(f"  {'':<{width}}  {one_line(where)}", "dim"), 0)
