"""The table of `fleet doctor --context`: what a CLI loads, with tokens and duplicates."""

from collections.abc import Iterator

from fleet.cli.terminal_text import painted, print_line, table
from fleet.doctor.context import MEASURED
from fleet.doctor.context.load import Survey, total
from fleet.schemas.shown_text import cut_front, one_line

#: How many lines of one kind are shown; the cheaper loads are added up in one line.
_LINES = 8
_LONGEST_NAME = 44
_KINDS = ("prompt", "tools", "rules", "skill", "command", "agent", "server", "plugin")


def show(survey: Survey, home: str) -> None:
    """Print the survey of one CLI; `home` is the user's home, shown as ~."""
    for line in _lines(survey):
        print_line(line.replace(f"{home}/", "~/") if home not in ("", "/") else line)


def _lines(survey: Survey) -> Iterator[str]:
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
