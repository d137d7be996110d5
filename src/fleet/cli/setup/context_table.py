"""The table of `fleet doctor --context`: what a CLI loads, with tokens and duplicates."""

from collections.abc import Iterable, Sequence

import click

from fleet.cli.terminal_text import one_line
from fleet.doctor.context import MEASURED
from fleet.doctor.context.load import Duplicate, Load, Survey, total

#: How many lines of one kind are shown; the cheaper loads are added up in one line.
_LINES = 8
_WIDTH = 44
_TITLES = {
    "prompt": "prompt", "tools": "tools", "rules": "rules", "skill": "skills",
    "command": "commands", "agent": "agents", "server": "MCP servers", "plugin": "plugins",
    "hooks": "hooks",
}  # fmt: skip


def show(survey: Survey, home: str) -> None:
    """Print the survey of one CLI; `home` is the user's home, shown as ~."""
    on = f" on {one_line(survey.account)}" if survey.account else ""
    click.secho(f"{survey.coder}{on} in {_short(survey.cwd, home)}", bold=True)
    for kind, title in _TITLES.items():
        loads = [load for load in survey.loads if load.kind == kind]
        if loads:
            _kind(title, loads, home)
    if survey.duplicates:
        click.secho("  loaded more than once", fg="yellow")
        for each in survey.duplicates[: 2 * _LINES]:
            _duplicate(each, home)
        if (more := len(survey.duplicates) - 2 * _LINES) > 0:
            click.echo(f"{'':11}and {more} more; all of them with --json")
    for finding in survey.findings:
        click.echo(f"  {click.style('!', fg='yellow')} {one_line(_short(finding.what, home))}")
        click.echo(f"    {_short(finding.fix, home)}")
    _contexts(survey)
    click.secho(f"  figures: {survey.source}", dim=True)


def _kind(title: str, loads: Sequence[Load], home: str) -> None:
    ordered = sorted(loads, key=lambda load: -(load.tokens or 0))
    shown, rest = ordered[:_LINES], ordered[_LINES:]
    for number, load in enumerate(shown):
        name = one_line(_short(load.name, home))
        where = "" if load.where == load.name else one_line(_short(load.where, home))
        head = title if number == 0 else ""
        words = f"{_cut(name):<{_WIDTH}} {load.origin:<8} {where}".rstrip()
        click.echo(f"{_tokens(load.tokens):>9}  {head:<12} {words}")
    if rest:
        click.echo(f"{_tokens(total(rest)):>9}  {'':<12} {len(rest)} more")


def _duplicate(each: Duplicate, home: str) -> None:
    click.echo(f"{_tokens(each.tokens):>9}  {one_line(each.what)}")
    click.echo(f"{'':11}{', '.join(_places(each.places, home))}")
    click.secho(f"{'':11}{_short(each.fix, home)}", fg="green")


def _places(places: Iterable[str], home: str) -> Iterable[str]:
    return dict.fromkeys(one_line(_short(place, home)) for place in places)


def _contexts(survey: Survey) -> None:
    if not survey.totals:
        return
    full = survey.totals.get("full")
    parts: list[str] = []
    for context, tokens in survey.totals.items():
        # A share is shown only where the CLI counted everything.
        known = survey.counted and tokens is not None and full and context != "full"
        share = f" ({tokens / full:.2f})" if known and tokens is not None and full else ""
        parts.append(f"{context} {_tokens(tokens)}{share}")
    beyond = f", {survey.beyond}" if survey.beyond else ""
    click.echo(f"  {click.style('tokens by context:', bold=True)} {'   '.join(parts)}{beyond}")
    click.echo("  choose one: fleet config set [--project .] context=lean, or --context for a task")
    if not survey.counted and survey.coder in MEASURED:
        share = f"{MEASURED[survey.coder]:.2f}"
        click.echo(f"  as fleet measured it, a lean run's first request is {share} of a full one's")


def _tokens(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"


def _short(text: str, home: str) -> str:
    return text.replace(f"{home}/", "~/") if home not in ("", "/") else text


def _cut(text: str) -> str:
    """The end of a text that is too long: of a path, the end is the name."""
    return text if len(text) <= _WIDTH else f"…{text[1 - _WIDTH :]}"
