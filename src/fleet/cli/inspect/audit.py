"""`fleet audit`: what people did, and whether the record is whole."""

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import painted, print_line
from fleet.control.acts.audit_log import AuditLine, ChainCheck, lines, verify
from fleet.schemas.shown_text import counted, one_line


@click.command("audit")
@click.argument("count", type=click.IntRange(1), default=50)
@click.option("--verify", "check", is_flag=True, help="Follow the whole chain; say if it broke.")
@click.option("--json", "as_json", is_flag=True, help="JSON: the acts, or what --verify found.")
def command(count: int, check: bool, as_json: bool) -> int:
    """Print the last COUNT acts of people: when, by what surface, which person, what, and the end.

    Each line holds the hash of the line before. --verify ends with exit code 1 if a line was
    changed, taken out or put in. An owner of the file who writes all of it anew is not found.
    """
    home = control.opened().home
    if check:
        seen = verify(home)
        if as_json:
            print_json(seen)
        else:
            _print_chain(seen)
        return 1 if seen.problems else 0
    found = lines(home, count)
    if as_json:
        print_json(found)
        return 0
    if not found:
        print_line("No act is recorded yet.")
    for line in found:
        print_line(_shown(line))
    return 0


def _print_chain(seen: ChainCheck) -> None:
    for problem in seen.problems:
        print_line(f"broken: {problem}", err=True)
    acts = counted(seen.lines, "act")
    print_line(f"{acts}: {'the chain is broken' if seen.problems else 'the chain is whole'}")


def _shown(line: AuditLine) -> str:
    when = f"{line.at.astimezone():%Y-%m-%d %H:%M:%S}"
    end = "" if line.end == "done" else f"  → {one_line(line.end)}"
    # A person on a channel is called by it: `telegram 1234`.
    name = line.user if line.user.startswith(line.surface) else f"{line.surface} {line.user}"
    who = painted(one_line(f"{name} {line.session}".strip()), "cyan")
    return f"{when}  {who}  {one_line(line.line)}{end}"
