"""`fleet status`: whether a supervisor is running, and what keeps tasks from being started."""

from datetime import datetime
from typing import get_args

from fleet import control
from fleet.bd.pflag import Flag, Parsed
from fleet.cli.fast_path import Quick
from fleet.cli.terminal_text import print_row
from fleet.control.queue.needs_person import BlockedTask, HeldTasks
from fleet.control.status import FleetStatus, fleet_status
from fleet.schemas import STATUSES
from fleet.schemas.budget import BudgetStatus
from fleet.schemas.shown_text import (
    ahead,
    cut,
    duration,
    first_line,
    moment,
    one_line,
    some,
)
from fleet.schemas.task_state import TaskState

#: Where the values begin: behind the longest state.
_COLUMN = max(map(len, get_args(TaskState))) + 2
#: How many tasks that wait for the same are named.
_MOST_NAMED = 5
#: How much of the reason of an earlier attempt is told; `fleet show` has all of it.
_MOST_WORDS = 120


def status(line: Parsed) -> int:
    now = datetime.now().astimezone()
    found = fleet_status(control.opened(), now)
    if line.switch("json"):
        from fleet.cli.json_output import print_json

        print_json(found)
    else:
        for name, value in rows(found, now):
            print_row(name, one_line(value), _COLUMN)
    return 0 if found.running else 1


def rows(found: FleetStatus, now: datetime) -> list[tuple[str, str]]:
    rows = [("supervisor", _supervisor(found, now))]
    if found.running or found.runs:
        adopted = "" if found.running else ", unsupervised; a new supervisor adopts them"
        rows.append(("runs", f"{found.runs} of {found.slots}{adopted}"))
    if found.paused_since is not None:
        when = moment(found.paused_since, now)
        rows.append(("paused", f"since {when}: no new runs. To go on: fleet resume"))
    if found.shortage:
        rows.append(("short", f"no new runs for now: {found.shortage}"))
    rows += [
        ("cooling", f"{account} until {ahead(until, now)}")
        for account, until in sorted(found.cooling.items())
    ]
    rows += [("account", _shut(name, why)) for name, why in sorted(found.shut.items())]
    rows += [("untold", f"{each}. See: fleet notify") for each in found.untold]
    for held in found.held:
        tried = f"tried again at {moment(held.until, now)}" if held.until > now else "tried next"
        rows.append(("held", f"{held.name}, {tried}: {held.why}. To go on: {held.way_on}"))
    rows += [("budget", _budget(each)) for each in found.budgets]
    rows.append(("queue", found.queue_problem or f"{found.queue}, {_tasks(found)}"))
    rows += [("", found.queue_hint)] if found.queue_hint else []
    rows += [("waits", _waits(each, now)) for each in found.waits]
    rows += [
        (state, f"{found.states[state]}: fleet land")
        for state in ("to land", "sent back")
        if found.states.get(state)
    ]
    rows += [("behind", one_line(text)) for text in found.behind]
    rows += [_for_you(each, now) for each in found.needs_you]
    left = found.needing - len(found.needs_you)
    if left > 0:
        rows.append(("need you", f"{left} more: fleet tasks --all"))
    if found.lost_log_lines:
        lost = f"{found.lost_log_lines} lines could not be written: is the disk full?"
        rows.append(("log", lost))
    return rows


def _for_you(task: BlockedTask, now: datetime) -> tuple[str, str]:
    """A task that waits for a person, and the command to go on."""
    why = first_line(task.question or task.why) or "no reason is noted"
    before = f"; before: {cut(first_line(task.before[0]), _MOST_WORDS)}" if task.before else ""
    told = not task.way_out or (not task.question and task.way_out in why)
    way = "" if told else f" ({_time_left(task.waits_until, now)}{task.way_out})"
    return task.state, f"{task.id} {task.title}: {why}{before}{way}"


def _time_left(until: datetime | None, now: datetime) -> str:
    if until is None:
        return ""
    left = max(0.0, (until - now).total_seconds())
    return f"its agent waits for another {duration(left)}: "


def _waits(held: HeldTasks, now: datetime) -> str:
    """The open tasks that one gate holds, and the command that helps."""
    until = f" until {moment(held.until, now)}" if held.until and held.until > now else ""
    way = f" ({held.way_out})" if held.way_out else ""
    return f"{some(held.ids, _MOST_NAMED)}{until}: {one_line(held.why)}{way}"


def _supervisor(found: FleetStatus, now: datetime) -> str:
    if found.since is None:
        return "not running. Start one: fleet run"
    since = f"since {moment(found.since, now)} ({duration((now - found.since).total_seconds())})"
    return f"running {since}, process {found.pid}"


def _shut(name: str, why: str) -> str:
    return why if why.startswith(f"{name} ") else f"{name} gets no work: {why}"


def _budget(budget: BudgetStatus) -> str:
    if budget.reached:
        return f"{budget}: spent, nothing starts until tomorrow; {budget.way_out}"
    return f"{budget}, nearly spent" if budget.near else str(budget)


def _tasks(found: FleetStatus) -> str:
    others = sorted(set(found.tasks) - set(STATUSES))  # beads lets people name their own
    shown = [status for status in (*STATUSES, *others) if found.tasks.get(status)]
    return ", ".join(f"{found.tasks[status]} {status}" for status in shown) or "no tasks"


QUICK = Quick(
    name="status",
    about="Say whether a supervisor is running, and how it does.\n\n"
    "Exit code: 0 it is running, 1 it is not.",
    flags=(Flag("json", "switch", help="The same as a JSON object."),),
    run=status,
)
