"""`fleet show`: one task as a person wants to see it."""

from pathlib import Path

from fleet import control
from fleet.accounts.candidates import Place
from fleet.bd.pflag import Flag, Parsed
from fleet.cli.fast_path import Quick
from fleet.cli.terminal_text import first_line, lines, one_line
from fleet.control import Control
from fleet.errors import InvalidTask
from fleet.home import messages, worktree_json
from fleet.home.task_policy import Ruled
from fleet.schemas import Task, named
from fleet.schemas.budget import NONE


def show(line: Parsed) -> int:
    (task_id,) = line.words
    if line.switch("json"):
        from fleet.cli.tracker.bd import bd

        return bd(["show", "--json", "--", task_id])
    fleet = control.opened()
    task = fleet.get(task_id)
    place, last = _place(fleet, task), _last_run(fleet, task)
    rows = [*_head(task), *place, *_budgets(fleet, task), *last, *_tail(task), *_waits(fleet, task)]
    for name, value in [*rows, *_told(fleet, task)]:
        print(f"{name + ':' if name else '':<13}{value}")
    for name, text in (("notes", task.notes), ("description", task.description)):
        if text:
            print(f"{name}:\n{lines(text)}")
    return 0


def _head(task: Task) -> list[tuple[str, str]]:
    return [
        ("id", task.id),
        ("title", one_line(task.title)),
        ("status", task.status + (f" ({task.assignee})" if task.assignee else "")),
        ("priority", f"P{task.priority}"),
    ]


def _place(fleet: Control, task: Task) -> list[tuple[str, str]]:
    try:
        place = fleet.place(task)
        tree = worktree_json.read(fleet.home, task.id)
    except InvalidTask as error:
        return [("invalid", f"{error.message}\n{'':13}{error.hint}")]
    rows = [("worktree", _standing(tree))] if tree is not None else []
    return [
        (name, value if own else f"{value} (default)")
        for name, value, own in (
            ("cwd", place.cwd, place.own_cwd),
            ("coder", place.coder, place.own_coder),
            ("model", place.model, place.own_model),
            *_accounts(place),
            *_rules(place.ruled),
        )
    ] + rows


def _budgets(fleet: Control, task: Task) -> list[tuple[str, str]]:
    """What of its budget is left, and whether it has to wait for one of the day's."""
    try:
        place = fleet.place(task)
    except InvalidTask:
        return []
    days = fleet.config.day_budget != NONE or fleet.config.projects
    if not days and not place.ruled.policy.budget:
        return []
    from datetime import datetime

    from fleet.control import budget_status

    rows: list[tuple[str, str]] = []
    if (own := budget_status.of_task(fleet, task, place)) is not None:
        tag = "" if "budget" in place.ruled.own else " (default)"
        rows.append(("budget", f"{own.figures}{tag}"))
        if own.reached and task.status != "closed":
            rows.append(("spent", f"nothing runs for it; {own.way_out}"))
    spent = budget_status.spent_for(fleet, place, datetime.now().astimezone())
    if spent is not None and task.status == "open":
        rows.append(("waits", f"until tomorrow: {spent.title} is spent ({spent.figures});"))
        rows.append(("", spent.way_out))
    return rows


def _accounts(place: Place) -> list[tuple[str, str, bool]]:
    """What it runs on, where it asks for something of its own."""
    rows = [("account", place.account, True)] if place.account else []
    chain = ", ".join(map(str, place.fallback))
    return rows + ([("fallback", chain, place.own_fallback)] if chain else [])


def _standing(tree: worktree_json.Worktree) -> str:
    if not tree.made or Path(tree.path).exists():
        return f"{tree.path} on {tree.branch}"
    return f"gone; the work is on the branch {tree.branch} of {tree.repository}"


def _rules(ruled: Ruled) -> list[tuple[str, str, bool]]:
    """What its runs are held to."""
    policy, own = ruled.policy, ruled.own
    rows = [("expect", policy.expect, "expect" in own)]
    rows += [("verify", one_line(line), "verify" in own) for line in policy.verify]
    rows += [("pinned", one_line(line), "pins" in own) for line in policy.pins]
    rows += [("scope", one_line(line), "scope" in own) for line in policy.scope]
    rows += [("isolation", policy.isolation, "isolation" in own)]
    rows += [("context", policy.context, "context" in own)]
    rows += [("begins at", one_line(policy.commit), True)] if policy.commit else []
    rows += [("needs", one_line(line), "needs" in own) for line in policy.needs]
    shown = policy.limits.shown()
    rows += [("limits", f"{name} {shown[name]}", True) for name in shown if name in own]
    rest = ", ".join(f"{name} {shown[name]}" for name in shown if name not in own)
    return [*rows, ("limits", rest, False)] if rest else rows


def _told(fleet: Control, task: Task) -> list[tuple[str, str]]:
    """What people told its agents, and whether that was read."""
    return [
        ("told", f"{one_line(tell.line)} ({f'run {tell.run}' if tell.run else 'waits'})")
        for tell in messages.read(fleet.home.task(task.id))
    ]


def _last_run(fleet: Control, task: Task) -> list[tuple[str, str]]:
    """How the last run that is over ended, by its typed reason."""
    from fleet.runs.outcome_history import read_ending
    from fleet.runs.run_directory import newest_first

    for run in newest_first(fleet.home.task(task.id)):
        if (ending := read_ending(run)) is not None:
            return [
                ("last run", f"{run.number}: {named(ending.outcome)}: {first_line(ending.why)}")
            ]
    return []


def _tail(task: Task) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if task.labels:
        rows.append(("labels", ", ".join(task.labels)))
    if task.close_reason:
        rows.append(("closed", one_line(task.close_reason)))
    return rows


def _waits(fleet: Control, task: Task) -> list[tuple[str, str]]:
    """Until when it is put off, and for what."""
    if task.not_before is None:
        return []
    from datetime import datetime

    from fleet.cli.terminal_text import duration, moment
    from fleet.control.tasks.why_waiting import waits_for

    now = datetime.now().astimezone()
    left = (task.not_before - now).total_seconds()
    when = moment(task.not_before, now) + (f" (in {duration(left)})" if left > 0 else "")
    why = waits_for(fleet, task, now)
    return [("not before", f"{when}: {one_line(why)}" if why else when)]


QUICK = Quick(
    name="show",
    about="Show one task: where and with what it runs, and how it stands. Values tagged (default)"
    " come from runtime.toml; the others were asked for by the task.",
    words=("id",),
    flags=(Flag("json", "switch", help="The raw answer of `bd show --json`."),),
    run=show,
)
