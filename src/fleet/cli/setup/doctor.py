"""`fleet doctor`: check what a run needs, and what a CLI loads."""

from pathlib import Path

import click

from fleet.cli.live_view import waiting
from fleet.cli.task_ids import account_names, coder_names
from fleet.cli.terminal_text import folded, painted
from fleet.control.task_directory import checked_directory
from fleet.errors import BadInput
from fleet.schemas.shown_text import one_line

_MARK = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}


@click.command("doctor")
@click.option("--context", is_flag=True, help="What each CLI loads before it reads a task.")
@click.option("--cwd", metavar="DIR", help="With --context: the project, instead of this one.")
@click.option(
    "--coder",
    help="With --context: only this one, instead of all that are installed.",
    shell_complete=coder_names,
)
@click.option(
    "--account",
    metavar="NAME",
    help="With --context: as this account has it.",
    shell_complete=account_names,
)
@click.option("--json", "as_json", is_flag=True, help="The findings as a JSON array.")
def command(
    context: bool, cwd: str | None, coder: str | None, account: str | None, as_json: bool
) -> int:
    """Check what a run needs and say how to mend what is missing.

    Exit code: 0 all is well, 1 something will fail, 2 only warnings.

    With --context: rules, skills, plugins, agents and MCP servers with their tokens, what is
    loaded twice and how to avoid it, and what each `context` would load; where accounts are
    declared, as the first that gets work has it. No model is asked.
    Servers of the project are started for it, as in a run. Exit code: 0, or 2 with duplicates
    or something to mend.
    """
    if context:
        return _context(cwd, coder, account, as_json=as_json)
    if cwd is not None or coder is not None or account is not None:
        raise BadInput("--cwd, --coder and --account work with --context only")
    from fleet.doctor import examine

    with waiting("asking the machine, the queue and the CLIs", quiet=as_json):
        findings = examine()
    if as_json:
        from fleet.cli.json_output import pretty

        click.echo(pretty(findings))
    else:
        for finding in findings:
            mark, colour = _MARK[finding.severity]
            sign = painted(mark, colour)
            click.echo(f"{sign} {finding.check:<12}{folded(one_line(finding.what), 14)}")
            if finding.fix:
                click.echo(f"{'':14}{folded(one_line(finding.fix), 14)}")
    worst = {finding.severity for finding in findings}
    return 1 if "error" in worst else 2 if "warning" in worst else 0


def _context(cwd: str | None, coder: str | None, account: str | None, *, as_json: bool) -> int:
    import os

    import msgspec

    from fleet.cli.json_output import pretty
    from fleet.cli.setup import context_table
    from fleet.doctor.context import surveys

    place = Path(checked_directory(cwd or os.getcwd()))  # noqa: PTH109
    if coder is not None and account is not None:
        raise BadInput("--coder and --account do not go together", hint="An account has its coder.")
    with waiting("each CLI says what it would load", quiet=as_json):
        found = surveys(place, coder, account=account)
    if as_json:
        click.echo(pretty([msgspec.to_builtins(each) for each in found]))
    for number, each in enumerate([] if as_json else found):
        click.echo("", nl=number > 0)
        context_table.show(each, str(Path.home()))
    return 2 if any(each.duplicates or each.findings for each in found) else 0
