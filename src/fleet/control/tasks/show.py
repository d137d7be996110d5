"""`fleet show`: what is known of one task beside the fields of the queue."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

from msgspec import Struct, structs

from fleet.accounts.candidates import Place
from fleet.control import Control
from fleet.control.hosts.other_hosts import bring_if_possible
from fleet.control.task_directory import FIRST_COMMIT, is_in_git, without_commit
from fleet.errors import InvalidTask
from fleet.home import clone_record, messages, owner_file
from fleet.home.messages import Delivery
from fleet.home.task_json import settings_of
from fleet.home.task_policy import PROJECT, cost_of_no_check, outside_of_git
from fleet.runs.outcome_history import (
    Ending,
    attempts_before,
    history,
    read_ending,
    spent_before,
)
from fleet.runs.run_directory import all_runs, newest_first
from fleet.schemas import Spend, Task
from fleet.schemas.budget import NONE, BudgetStatus, Payer
from fleet.schemas.policy import LandRules

#: How many attempts before the last run are told.
_EARLIER = 4


class SettingOf(Struct, frozen=True, kw_only=True):
    """One setting that a task runs with, and the setting's origin."""

    name: str
    value: str
    #: `task`: the task asked for the value. `default`: runtime.toml or fleet. `project`, or words.
    source: str


class PastRuns(Struct, frozen=True, kw_only=True):
    """How many runs a task had, how many of them failed as attempts, and what all of them spent."""

    runs: int = 0
    attempts: int = 0
    retry_limit: int = 0
    spent: Spend = Spend()
    #: The attempts before the last run that are of its series, the latest first.
    earlier: tuple[tuple[int, Ending], ...] = ()
    #: The name of the host that the last run was on, where hosts share the queue.
    last_host: str = ""


class TaskDetails(Struct, frozen=True, kw_only=True):
    """One task with place, budgets and last run."""

    task: Task
    #: Where and with what the task would run; None where the task is invalid.
    place: Place | None = None
    #: Why the task is invalid, and how to mend it.
    invalid: str = ""
    hint: str = ""
    #: The clone that the task works in, and the branch that the work comes to; empty: no clone.
    clone: str = ""
    branch: str = ""
    repository: str = ""
    #: The clone was removed.
    clone_is_gone: bool = False
    #: The task's own budget; and the budget of today that is spent and keeps the task waiting.
    budget: BudgetStatus | None = None
    day_budget: BudgetStatus | None = None
    #: The last run that is over, and its number.
    last_run: tuple[int, Ending] | None = None
    #: The tasks that this one depends on and that are not closed.
    blockers: tuple[Task, ...] = ()
    past: PastRuns = PastRuns()
    messages: tuple[Delivery, ...] = ()


def task_details(fleet: Control, task: Task, now: datetime) -> TaskDetails:
    """What is known of a task. An invalid task is described, not refused."""
    bring_if_possible(fleet, task.id)
    task_dir = fleet.home.task(task.id)
    said = tuple(messages.read(task_dir))
    runs = _last_runs(fleet, task)
    last_run = runs[0] if runs else None
    waits = task.status in ("open", "deferred")
    blockers = tuple(fleet.queue.blockers(task.id)) if waits else ()
    past = PastRuns(
        runs=len(all_runs(task_dir)),
        attempts=_attempts(task, task_dir, last_run),
        retry_limit=fleet.config.retry_limit,
        spent=spent_before(task_dir),
        earlier=tuple(runs[1:]),
        last_host=_host_of(task_dir, last_run[0]) if last_run and fleet.is_shared else "",
    )
    try:
        place = _in_place(fleet.place(task))
        record = clone_record.read(fleet.home, task.id)
    except InvalidTask as error:
        return TaskDetails(
            task=task, invalid=error.message, hint=error.hint,
            last_run=last_run, messages=said, blockers=blockers, past=past,
        )  # fmt: skip
    budget, day_budget = _budgets(fleet, task, place, past.spent, now)
    clone = fleet.home.clone(task.id)
    return TaskDetails(
        task=task, place=place, clone=str(clone) if record else "",
        branch=clone_record.branch_of(task.id), repository=record.repository if record else "",
        clone_is_gone=record is not None and record.made and not clone.exists(),
        budget=budget, day_budget=day_budget, last_run=last_run, messages=said,
        blockers=blockers, past=past,
    )  # fmt: skip


def _in_place(place: Place) -> Place:
    """The place with the rules that hold there: some settings are for repositories only."""
    if is_in_git(place.cwd):
        return place
    return structs.replace(place, ruled=outside_of_git(place.ruled))


def settings_shown(details: TaskDetails) -> Iterator[SettingOf]:
    """Where and with what a task runs, each with where that comes from."""
    place = details.place
    if place is None:
        return
    origins = {**place.ruled.origins, **place.origins}

    def setting(name: str, value: str, *, own: bool, part: str = "") -> SettingOf:
        source = "task" if own else origins.get(part or name, "default")
        return SettingOf(name=name, value=value, source=source)

    yield setting("cwd", place.cwd, own="cwd" in place.own)
    yield setting("coder", place.coder, own="coder" in place.own)
    yield setting("model", place.model or "as its CLI chooses", own="model" in place.own)
    if place.account:
        yield setting("account", place.account, own=True)
    if place.fallback:
        chain = ", ".join(map(str, place.fallback))
        yield setting("fallback", chain, own="fallback" in place.own)
    policy, own = place.ruled.policy, place.ruled.own
    for name in ("work_in", "expect", "require", "context"):
        yield setting(name, str(getattr(policy, name)), own=name in own)
    yield setting("sandbox", policy.sandbox.level, own="sandbox" in own)
    for name in ("verify", "pins", "scope", "needs"):
        for value in getattr(policy, name):
            yield setting(name, value, own=name in own)
    if not policy.verify:
        yield setting("verify", f"none: {cost_of_no_check(policy)}", own="verify" in own)
    if policy.commit:
        yield setting("begins at", policy.commit, own=True)
    for name, value in policy.limits.shown().items():
        yield setting(f"max {name}", value, own=name in own, part=name)
    if policy.budget:
        yield setting("budget", str(policy.budget), own="budget" in own)
    yield from _landing_settings(place)


def _landing_settings(place: Place) -> Iterator[SettingOf]:
    policy = place.ruled.policy
    if policy.work_in == "clone":
        land, source = policy.land, place.ruled.origins.get("land", "default")
        onto = f", onto {land.into}" if land.lands and land.into else ""
        yield SettingOf(name="land", value=f"{land.mode}{onto}", source=source)
        for name, values in (("setup", policy.setup), ("share", policy.copies.share)):
            yield from (SettingOf(name=name, value=value, source=PROJECT) for value in values)


def where_code_is(fleet: Control, task: Task) -> str:
    """Where other hosts get a task's code from, or which host the task stays on and why; empty
    where the queue has one host.
    """
    if not fleet.is_shared:
        return ""
    settings = settings_of(fleet.home, task)
    origin = settings.repository
    if origin is not None:
        at = f"@{origin.commit[:12]}" if origin.commit else ""
        below = f", in {origin.subdirectory}" if origin.subdirectory else ""
        return f"{origin.url}{at}{below}"
    if not settings.made_on:
        return ""
    from fleet.control.hosts.other_hosts import runs_elsewhere
    from fleet.control.queue.place_code import why_it_stays

    name = runs_elsewhere(fleet, task.id).names.get(settings.made_on, settings.made_on)
    if settings.made_on != owner_file.read(fleet.home):
        return f"bound to host {name}: only there is its directory"
    return f"bound to this host ({name}): {why_it_stays(fleet, task.id, settings)}"


def where_it_stays(place: Place, branch: str) -> str:
    """Where work stays, in words; `branch`: the task's own. Empty: the work lands."""
    policy = place.ruled.policy
    if policy.work_in == "directory":
        return f"in {place.cwd} itself"
    return "" if policy.land.lands else f"on the branch {branch}"


def where_it_lands(place: Place) -> str:
    """Where the work of a task's next run will land, in words."""
    policy = place.ruled.policy
    rules = policy.land
    if without_commit(place.cwd):
        return f"nowhere yet: its repository has no commit. Make one: {FIRST_COMMIT}"
    return _lands(rules, unproved=not policy.verify and policy.require != "any")


def _lands(rules: LandRules, *, unproved: bool) -> str:
    if rules.asks_branch:
        return "on the branch that you name: none was checked out when the task was made"
    into = rules.into or "the branch that is checked out when it begins"
    if rules.to == "pr":
        merged = "" if rules.mode == "auto" else ", which you merge"
        return f"on {into}, by a pull request{merged}"
    where = f"on {into} and its remote" if rules.to == "push" else f"on {into}"
    if unproved:
        return f"{where}, once you approve it (no verify command checks it)"
    return f"{where}, once it is accepted" + (" and you approve it" if rules.mode == "ask" else "")


def _budgets(
    fleet: Control, task: Task, place: Place, spent: Spend, now: datetime
) -> tuple[BudgetStatus | None, BudgetStatus | None]:
    """The task's own budget, and the budget of today that is spent and keeps it from running."""
    configured = fleet.config.day_budget != NONE or fleet.config.projects
    if not configured and not place.ruled.policy.budget:
        return None, None
    from fleet.control.budget_status import day_budgets
    from fleet.spending import budgets

    payer = Payer(fleet.config.project(place.cwd).path)
    of_day = day_budgets(fleet, now) if task.status == "open" else ()
    reached = (each for each in of_day if each.reached and each.concerns(payer))
    return budgets.of_task(task.id, place.ruled.policy.budget, spent), next(reached, None)


def _last_runs(fleet: Control, task: Task) -> list[tuple[int, Ending]]:
    """The last run that is over, and the attempts of the same series before that run,
    latest first.
    """
    for run in newest_first(fleet.home.task(task.id)):
        if (ending := read_ending(run)) is not None:
            before = islice(attempts_before(run), _EARLIER)
            endings = [(each.number, read_ending(each)) for each in before]
            return [(run.number, ending), *((at, each) for at, each in endings if each is not None)]
    return []


def _host_of(task_dir: Path, number: int) -> str:
    """The name of the host that a run was on, by its own record."""
    run = next((each for each in newest_first(task_dir) if each.number == number), None)
    try:
        return run.spec().host if run is not None else ""
    except InvalidTask:
        return ""


def _attempts(task: Task, task_dir: Path, last_run: tuple[int, Ending] | None) -> int:
    """The failed attempts. A task that is over keeps those that it had; put back, it has none."""
    if task.status in ("blocked", "closed") and last_run is not None:
        return last_run[1].attempts
    return history(task_dir).attempts
