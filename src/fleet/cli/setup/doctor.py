"""`fleet doctor`: check what a run needs, and what a CLI loads."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from fleet.cli.json_output import print_json
from fleet.cli.live_view import waiting
from fleet.cli.task_ids import account_names, coder_names
from fleet.cli.terminal_text import folded, painted, print_line, table
from fleet.control.task_directory import checked_directory
from fleet.doctor import examine
from fleet.doctor.context import COUNTS, MEASURED, surveys
from fleet.doctor.context.load import Survey, total
from fleet.errors import BadInput
from fleet.schemas.shown_text import cut_front, one_line

#: How many lines of one kind are shown; the cheaper loads are added up in one line.
_LINES = 8
_LONGEST_NAME = 44
_KINDS = ("prompt", "tools", "rules", "skill", "command", "agent", "server", "plugin")
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
@click.option(
    "--start", is_flag=True, help="With --context: start claude in the project without asking."
)
@click.option("--json", "as_json", is_flag=True, help="The findings as a JSON array.")
def command(
    context: bool,
    cwd: str | None,
    coder: str | None,
    account: str | None,
    start: bool,
    as_json: bool,
) -> int:
    """Check what a run needs and say how to mend what is missing.

    Exit code: 0 all is well, 1 something will fail, 2 only warnings.

    With --context: rules, skills, plugins, agents and MCP servers with their tokens, what is
    loaded twice and how to avoid it, and what each `context` would load; where accounts are
    declared, as the first that gets work has it. No model is asked.
    Sizes are estimates from the files. claude counts exactly, but to do so it starts in the
    project and runs the MCP servers and helpers of the project, as you and outside of any box.
    So you are asked first; without a terminal, and with --json, only --start has it count.
    Exit code: 0, or 2 with duplicates or something to mend.
    """
    if context:
        return _context(cwd, coder, account, start=start, as_json=as_json)
    if cwd is not None or coder is not None or account is not None or start:
        raise BadInput("--cwd, --coder, --account and --start work with --context only")
    with waiting("asking the machine, the queue and the CLIs", quiet=as_json):
        findings = examine()
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            mark, colour = _MARK[finding.severity]
            sign = painted(mark, colour)
            click.echo(f"{sign} {finding.check:<12}{folded(one_line(finding.what), 14)}")
            if finding.fix:
                click.echo(f"{'':14}{folded(one_line(finding.fix), 14)}")
    worst = {finding.severity for finding in findings}
    return 1 if "error" in worst else 2 if "warning" in worst else 0


def _context(
    cwd: str | None, coder: str | None, account: str | None, *, start: bool, as_json: bool
) -> int:
    import os

    place = Path(checked_directory(cwd or os.getcwd()))  # noqa: PTH109
    if coder is not None and account is not None:
        raise BadInput("--coder and --account do not go together", hint="An account has its coder.")
    found = surveys(place, coder, account=account)
    if start or (not as_json and _may_start(found)):
        with waiting("claude counts what it would load", quiet=as_json):
            found = surveys(place, coder, account=account, start=True)
    if as_json:
        print_json(found)
    home = str(Path.home())
    for number, each in enumerate([] if as_json else found):
        click.echo("", nl=number > 0)
        for line in _context_lines(each):
            print_line(line.replace(f"{home}/", "~/") if home != "/" else line)
    return 2 if any(each.duplicates or each.findings for each in found) else 0


def _may_start(found: Sequence[Survey]) -> bool:
    """Ask the person at the terminal whether claude may start in the project."""
    for each in found:
        if each.coder == COUNTS and sys.stdin.isatty() and sys.stdout.isatty():
            servers = [x.name for x in each.loads if x.kind == "server" and x.origin == "project"]
            named = f", its MCP servers ({', '.join(map(one_line, servers))})" if servers else ""
            print_line(
                f"claude can count exactly. It then starts in {one_line(each.cwd)} as you, outside"
                f" of any box, and runs what the project tells it to run{named}."
            )
            return click.confirm("Start claude there")
    return False


def _context_lines(survey: Survey) -> Iterator[str]:
    on = f" on {one_line(survey.account)}" if survey.account else ""
    yield painted(f"{survey.coder}{on} in {survey.cwd}", "bold")
    rows = list(_rows(survey))
    if rows:
        yield from table(("tokens", "kind", "name", "from", "where"), rows, right=("tokens",))
    if survey.duplicates:
        yield painted("loaded more than once", "yellow")
    for each in survey.duplicates:
        yield f"  {one_line(each.what)}, {_tokens(each.tokens)} tokens:"
        yield f"    {', '.join(map(one_line, dict.fromkeys(each.places)))}"
        yield painted(f"    {one_line(each.fix)}", "green")
    for finding in survey.findings:
        yield f"{painted('!', 'yellow')} {one_line(finding.what)}"
        yield f"  {one_line(finding.fix)}"
    if survey.totals:
        yield from _contexts(survey)
    yield painted(f"figures: {survey.source}", "dim")


def _rows(survey: Survey) -> Iterator[tuple[str, ...]]:
    for kind in _KINDS:
        loads = [load for load in survey.loads if load.kind == kind]
        loads.sort(key=lambda load: -(load.tokens or 0))
        for load in loads[:_LINES]:
            name = cut_front(one_line(load.name), _LONGEST_NAME)
            where = "" if load.where == load.name else one_line(load.where)
            yield _tokens(load.tokens), kind, name, load.origin, where
        if rest := loads[_LINES:]:
            yield _tokens(total(rest)), kind, f"{len(rest)} more", "", ""


def _contexts(survey: Survey) -> Iterator[str]:
    full = survey.totals.get("full")
    parts: list[str] = []
    for context, tokens in survey.totals.items():
        # A share is shown only where the CLI counted everything.
        share = f" ({tokens / full:.2f})" if survey.counted and tokens and full else ""
        parts.append(f"{context} {_tokens(tokens)}{share}")
    beyond = f", {survey.beyond}" if survey.beyond else ""
    yield f"{painted('tokens by context:', 'bold')} {'   '.join(parts)}{beyond}"
    yield "choose one: fleet config set [--project .] context=lean, or --load for a task"
    if not survey.counted and survey.coder in MEASURED:
        share = f"{MEASURED[survey.coder]:.2f}"
        yield f"as fleet measured it, a lean run's first request is {share} of a full one's"


def _tokens(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"
