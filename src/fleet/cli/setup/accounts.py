"""`fleet accounts`: what is left of each account's limits, and the tasks that run there."""

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import painted, print_line
from fleet.control.accounts import AccountNow, accounts_now
from fleet.schemas import Window
from fleet.schemas.shown_text import ahead, bar, one_line

_BAR = 10


@click.command("accounts")
@click.option("--json", "as_json", is_flag=True, help="A JSON array with all that is known.")
def command(as_json: bool) -> None:
    """Show each account: windows, when they reset, and which tasks run there.

    What is known of a window is what its CLI told last; of one that is not shown nothing was told.
    """
    show(as_json)


def show(as_json: bool) -> None:
    found = accounts_now(control.opened(), datetime.now(UTC))
    if as_json:
        print_json(found)
        return
    now = datetime.now().astimezone()
    for each in found:
        for line in lines(each, now):
            print_line(line, 4)
    if all(each.own for each in found):
        print_line(
            painted("Your own logins. To add another: fleet account add NAME --coder …", "dim")
        )


def lines(each: AccountNow, now: datetime) -> Iterator[str]:
    """The lines of one account: name and settings, then one line a window."""
    account = each.account
    login = "your own login" if each.own else f"weight {account.weight}"
    reserve = f", at most {account.max_concurrent}" if account.max_concurrent < 1000 else ""
    reserve += f", stops at {account.stop_at} %" if account.stop_at < 100 else ""
    reserve += f", {account.day_budget} a day" if account.day_budget else ""
    mark, colour = ("!", "yellow") if each.shut else ("✓", "green")
    name = painted(one_line(account.name), "bold")
    yield f"{painted(mark, colour)} {name} ({one_line(account.coder)}, {login}{reserve})"
    if each.shut:
        until = f" until {ahead(each.until, now)}" if each.until else ""
        yield f"    {one_line(each.shut)}{until}"
    elif each.unproven:
        yield "    one task tries it before others follow"
    for window in each.windows:
        yield f"    {_window(window, now)}"
    if each.tasks:
        tasks = ", ".join(each.tasks)
        most = min(account.max_concurrent, each.pace or account.max_concurrent)
        # A limit that was lowered, or a run that a stop has not reached yet: more than it may have.
        of = f" of {most}" if len(each.tasks) <= most < 1000 else ""
        more = f" ({most} at a time from now on)" if len(each.tasks) > most else ""
        yield f"    {len(each.tasks)}{of} at work{more}: {one_line(tasks)}"


def _window(window: Window, now: datetime) -> str:
    if window.used_percent is None:
        used = f"{'refused' if window.status == 'rejected' else 'open':<{_BAR + 5}}"
    else:
        used = f"{bar(window.used_percent / 100, _BAR)} {window.used_percent:3.0f}%"
    ends = f"  resets {ahead(window.resets_at, now)}" if window.resets_at else ""
    return f"{window.kind:<14} {used}{ends}"
