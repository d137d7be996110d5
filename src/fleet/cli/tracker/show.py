"""`fleet show`: one task for people."""

from collections.abc import Mapping
from datetime import datetime

from fleet import control
from fleet.bd.pflag import Flag, Parsed
from fleet.cli.fast_path import Quick
from fleet.cli.terminal_text import lines, print_line, print_row
from fleet.control import Control
from fleet.control.landing.open_landings import landing_host, landing_of, landing_words
from fleet.control.tasks.show import (
    TaskDetails,
    settings_shown,
    task_details,
    where_code_is,
    where_it_lands,
    where_it_stays,
)
from fleet.control.view.now import TaskRow
from fleet.control.view.read_now import rows_of
from fleet.home.landing_json import Landing
from fleet.schemas import Task, named
from fleet.schemas.shown_text import duration, ending_words, first_line, moment, one_line
from fleet.schemas.waits import CannotLand, OutOfAttempts, OutOfScope

#: A row of the page: a name (empty: the row continues the one above) and a text.
ShownField = tuple[str, str]
#: A setting that has a row of its own, with what is spent.
_TOLD_APART = ("budget",)


def show(line: Parsed) -> int:
    if line.switch("json"):
        from fleet.cli.tracker.bd import bd

        return bd(["show", "--json", "--", *line.words])
    now = datetime.now().astimezone()
    fleet = control.opened()
    for number, task_id in enumerate(line.words):
        if number:
            print()
        show_task(fleet, fleet.get(task_id), now)
    return 0


def show_task(fleet: Control, task: Task, now: datetime) -> None:
    """Print all that is known of a task."""
    details, landing = task_details(fleet, task, now), landing_of(fleet, task)
    known = rows_of(fleet, (task,), now)[0]
    rows = [*_head(fleet, task, known[task.id]), *_landing(fleet, task, landing)]
    rows += _lands(details) if landing is None else []
    rows += _left(fleet, task)
    has_landed = landing is not None and landing.state == "landed"
    rows += [*_times(task, now), *_settings(details), *_budgets(details)]
    rows += _code(fleet, details)
    rows += _clone(details, has_landed=has_landed)
    rows += _anew(task, details)
    rows += [*_runs(details), *_tail(task), *_waits(details, known, now), *_messages(details)]
    for name, value in rows:
        print_row(name, one_line(value), 13)
    for name, text in (("notes", task.notes), ("description", task.description)):
        if text:
            print_line(f"{name}:\n{lines(text)}", 0)


def _head(fleet: Control, task: Task, row: TaskRow) -> list[ShownField]:
    return [
        ("id", task.id),
        ("title", one_line(task.title)),
        ("state", _state(fleet, task, row)),
        ("priority", f"P{task.priority}"),
    ]


def _landing(fleet: Control, task: Task, landing: Landing | None) -> list[ShownField]:
    """How far the work is on the way to the branch, and the receipt of a landing."""
    if landing is None:
        return []
    words, host = landing_words(fleet, task.id, landing), landing_host(fleet, task)
    rows = [("landing", f"{words}, by host {host}" if host else words)]
    if landing.why and landing.state in ("asks", "ahead", "held", "back"):
        rows += [("", line) for line in landing.why.splitlines()]
    if landing.landed is not None and landing.state == "landed":
        proof = f"proved by {landing.landed.proof}"
        checks = ", ".join(each.removeprefix(".: ") for each in landing.landed.checks)
        rows.append(("", f"{proof}; passed there: {checks}" if checks else proof))
        rows += [("", text) for text in (landing.landed.pushed, landing.landed.pr) if text]
    if landing.approved_by:
        rows.append(("approved", f"by {landing.approved_by}"))
    return rows


def _left(fleet: Control, task: Task) -> list[ShownField]:
    """Of work that waits for a host to take the landing over: how that comes about."""
    if not task.waits_to_land or not fleet.is_shared:
        return []
    from fleet.control.hosts.left_work import left_work

    return [("left", words) for words in left_work(fleet, [task]).values()]


def _lands(details: TaskDetails) -> list[ShownField]:
    """Where the work of a task will be that waits to run."""
    if details.place is None or details.task.status not in ("open", "in_progress", "deferred"):
        return []
    if stays := where_it_stays(details.place, details.branch):
        return [] if details.clone else [("work", stays)]
    return [("lands", where_it_lands(details.place))]


def _state(fleet: Control, task: Task, row: TaskRow) -> str:
    """The state, with the tracker's status where that is another word; of a task in progress also
    the holder: this or another fleet, or a person.
    """
    if task.status != "in_progress" or not task.assignee:
        same = task.status in ("open", "closed")
        return row.state if same else f"{row.state} ({task.status} in the tracker)"
    if not task.lease_owner:
        return f"{row.state} ({one_line(task.assignee)})"
    if not fleet.is_shared:
        return f"{row.state} (with fleet)"
    from fleet.control.hosts.other_hosts import runs_elsewhere

    return f"{row.state} (with fleet on host {runs_elsewhere(fleet, task.id).host_of(task)})"


def _settings(details: TaskDetails) -> list[ShownField]:
    """Where and with what the task runs; limits that are nowhere set share a row."""
    if details.place is None:
        return [("invalid", details.invalid), ("", details.hint)]
    rows, limits = list[ShownField](), list[str]()
    for each in settings_shown(details):
        if each.name in _TOLD_APART:
            continue
        if each.name.startswith("max ") and each.source == "default":
            limits.append(f"{each.name.removeprefix('max ')} {each.value}")
        else:
            tag = "" if each.source == "task" else f" ({each.source})"
            rows.append((each.name, f"{each.value}{tag}"))
    return [*rows, ("limits", f"{', '.join(limits)} (default)")] if limits else rows


def _code(fleet: Control, details: TaskDetails) -> list[ShownField]:
    """Where other hosts get the code from, or which host the task stays on."""
    words = where_code_is(fleet, details.task) if details.place is not None else ""
    return [("code", one_line(words))] if words else []


def _clone(details: TaskDetails, *, has_landed: bool) -> list[ShownField]:
    """Where the task's clone is, and where the work comes to until landed."""
    if not details.clone:
        return []
    clone = ("clone", "removed" if details.clone_is_gone else details.clone)
    work = ("work", f"comes to the branch {details.branch} of {details.repository}")
    return [clone] if has_landed else [clone, work]


def _anew(task: Task, details: TaskDetails) -> list[ShownField]:
    """How to have a task that was rejected done without what its runs left in the clone."""
    if not details.clone or not isinstance(task.waits, OutOfAttempts | OutOfScope | CannotLand):
        return []
    return [("anew", f"without what its runs left: fleet retry --fresh {task.id}")]


def _budgets(details: TaskDetails) -> list[ShownField]:
    """What is left of the task's budget, and a budget of the day that the task waits for."""
    rows: list[ShownField] = []
    budget, day = details.budget, details.day_budget
    if budget is not None and details.place is not None:
        ruled = details.place.ruled
        tag = "" if "budget" in ruled.own else f" ({ruled.origins.get('budget', 'default')})"
        rows.append(("budget", f"{budget.figures}{tag}"))
        if budget.reached and details.task.status != "closed":
            rows.append(("spent", f"nothing runs for it; {budget.way_out}"))
    if day is not None:
        rows.append(("waits", f"until tomorrow: {day.title} is spent ({day.figures});"))
        rows.append(("", day.way_out))
    return rows


def _times(task: Task, now: datetime) -> list[ShownField]:
    """When the task was made, begun and closed."""
    made = f"{moment(task.created_at, now)}" + (f" by {task.created_by}" if task.created_by else "")
    rows = [("made", one_line(made))]
    if task.started_at is not None:
        rows.append(("begun", moment(task.started_at, now)))
    return rows


def _runs(details: TaskDetails) -> list[ShownField]:
    """How often the task was tried, at what cost, how the last run ended, and what was refused."""
    past, rows = details.past, list[ShownField]()
    if past.runs:
        failed = f"{past.attempts} of {past.retry_limit} attempts failed"
        rows.append(("runs", f"{past.runs}, {failed}, spent {past.spent.words()}"))
    if details.last_run is not None:
        number, ending = details.last_run
        where = f"{number} on host {past.last_host}" if past.last_host else f"{number}"
        rows.append(("last run", f"{where}: {ending_words(named(ending.outcome), ending.why)}"))
        rows += [
            ("earlier", f"{number}: {ending_words(named(each.outcome), each.why)}")
            for number, each in details.past.earlier
        ]
        rows += [("denied", first_line(call)) for call in ending.denied]
    return rows


def _tail(task: Task) -> list[ShownField]:
    rows: list[ShownField] = []
    if task.labels:
        rows.append(("labels", one_line(", ".join(task.labels))))
    if task.close_reason:
        rows.append(("closed", one_line(task.close_reason)))
    return rows


def _waits(details: TaskDetails, known: Mapping[str, TaskRow], now: datetime) -> list[ShownField]:
    """Why the task does not run now: the tasks that it waits for, what is in its way, and the
    command that changes that.
    """
    rows = [
        ("waits for", f"{each.id} ({known[each.id].state}): {one_line(each.title)}")
        for each in details.blockers
        if each.id in known
    ]
    row = known[details.task.id]
    if row.group == "done" or row.state == "running" or not row.reason:
        return rows
    why, way = one_line(row.reason.strip()), f": {row.way_on.line}" if row.way_on else ""
    if row.until is None:
        name = {"waiting": "waits", "ready": "not yet"}.get(row.state, "why")
        return [*rows, (name, f"{why}{way}")]
    left = (row.until - now).total_seconds()
    when = moment(row.until, now) + (f" (in {duration(left)})" if left > 0 else "")
    return [*rows, ("not before", f"{when}: {why}{way}")]


def _messages(details: TaskDetails) -> list[ShownField]:
    """The messages of people to the task's agents, and the run that read each."""
    unread = "not read" if details.task.status == "closed" else "waits"
    return [
        ("told", f"{one_line(tell.line)} ({f'run {tell.run}' if tell.run else unread})")
        for tell in details.messages
    ]


QUICK = Quick(
    name="show",
    about="Show one task or several: where and with what each runs, and how it stands. Values"
    " tagged (default) come from runtime.toml, (project) from its table of the project; those"
    " without a tag were asked for by the task.",
    words=("id",),
    several=True,
    flags=(Flag("json", "switch", help="The raw answer of `bd show --json`."),),
    run=show,
)
