"""`fleet status`: is anybody looking after the queue?"""

from datetime import datetime

import click

from fleet import control
from fleet.accounts.circuit_breaker import HeldCoder
from fleet.cli.terminal_text import duration, moment, one_line
from fleet.control.supervisor_status import Supervision, supervision
from fleet.schemas import STATUSES
from fleet.schemas.budget_status import BudgetStatus


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="The same as a JSON object.")
def command(as_json: bool) -> int:
    """Say whether a supervisor is running, and how it does.

    Exit code: 0 it is running, 1 it is not.
    """
    now = datetime.now().astimezone()
    seen = supervision(control.opened(), now)
    if as_json:
        from fleet.cli.json_output import pretty

        click.echo(pretty(seen))
    else:
        for name, value in rows(seen, now):
            click.echo(f"{name + ':':<12}{one_line(value)}")
    return 0 if seen.running else 1


def rows(seen: Supervision, now: datetime) -> list[tuple[str, str]]:
    rows = [("supervisor", _supervisor(seen, now))]
    if seen.running or seen.runs:
        adopted = "" if seen.running else ", unsupervised; a new supervisor adopts them"
        rows.append(("runs", f"{seen.runs} of {seen.slots}{adopted}"))
    if seen.paused_since is not None:
        when = moment(seen.paused_since, now)
        rows.append(("paused", f"since {when}: no new runs. To go on: fleet resume"))
    if seen.shortage:
        rows.append(("short", f"no new runs for now: {seen.shortage}"))
    rows += [
        ("cooling", f"{coder} until {moment(until, now)} (in {_in(until, now)})")
        for coder, until in sorted(seen.cooling.items())
    ]
    rows += [("account", _shut(name, why)) for name, why in sorted(seen.shut.items())]
    rows += [("held", _held(held, now)) for held in seen.held]
    rows += [("budget", _budget(each)) for each in seen.budgets]
    rows.append(("queue", seen.queue_problem or f"{seen.queue}, {_tasks(seen)}"))
    if seen.lost_log_lines:
        rows.append(("log", f"{seen.lost_log_lines} lines could not be written: is the disk full?"))
    return rows


def _supervisor(seen: Supervision, now: datetime) -> str:
    if seen.since is None:
        return "not running. Start one: fleet run"
    since = f"since {moment(seen.since, now)} ({duration((now - seen.since).total_seconds())})"
    return f"running {since}, process {seen.pid}"


def _in(until: datetime, now: datetime) -> str:
    return duration((until - now).total_seconds())


def _shut(name: str, why: str) -> str:
    return why if why.startswith(f"{name} ") else f"{name} gets no work: {why}"


def _held(held: HeldCoder, now: datetime) -> str:
    tried = f"tried again at {moment(held.until, now)}" if held.until > now else "tried next"
    return f"{held.name}, {tried}: {held.text}. To go on: fleet resume --coder {held.coder}"


def _budget(status: BudgetStatus) -> str:
    if status.reached:
        return f"{status}: spent, nothing starts until tomorrow; {status.way_out}"
    return f"{status}, nearly spent" if status.near else str(status)


def _tasks(seen: Supervision) -> str:
    known = [status for status in STATUSES if seen.tasks.get(status)]
    others = sorted(set(seen.tasks) - set(STATUSES))  # beads lets people name their own
    return ", ".join(f"{seen.tasks[s]} {s}" for s in (*known, *others)) or "no tasks"
