"""Why a task that is not closed does not run now, and the act that would change that: for
`fleet show`, `fleet tasks`, `fleet top` and the page alike.

The words are those of what decides: the queue's readiness, the supervisor's own conditions, and
the choice of an account (`control/view/why_put_off.py`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet import __version__
from fleet.coders.trusted_files import untrusted as untrusted_coders
from fleet.control import Control
from fleet.control.pause import paused_since
from fleet.home import base_wait, compare_json, owner_file
from fleet.home.status_file import SupervisorStatus, read_status
from fleet.home.trusted_commands import untrusted, waits_text
from fleet.processes.supervisor_lock import supervisor_of
from fleet.schemas import NOT_WORK, Task
from fleet.schemas.budget import BudgetStatus
from fleet.schemas.task_state import Waiting, WayOn


class SupervisorNow(Struct, frozen=True, kw_only=True):
    """Whether tasks are started at all, and what keeps them from being started."""

    alive: bool = False
    pid: int | None = None
    since: datetime | None = None
    #: The version of fleet that reads this.
    version: str = __version__
    paused_since: datetime | None = None
    runs: int = 0
    slots: int = 0
    #: Why the queue cannot be used, and what to do about it; empty if it answers.
    queue_problem: str = ""
    queue_hint: str = ""
    #: What the machine is short of, so that nothing new is started.
    shortage: str = ""
    #: Why tasks are not started, a sentence each: logins that are held, budgets that are spent.
    hindrances: tuple[str, ...] = ()
    budgets: tuple[BudgetStatus, ...] = ()
    lost_log_lines: int = 0


class Conditions(Struct, frozen=True, kw_only=True):
    """What holds for all tasks of a home at one moment."""

    now: datetime
    supervisor: SupervisorNow = SupervisorNow()
    #: The tasks that run on each account.
    on_account: Mapping[str, tuple[str, ...]] = {}
    #: Why nothing at all is started; empty: what hinders concerns some tasks only.
    stands_still: str = ""
    #: Coders whose file no person has trusted.
    strange_coders: frozenset[str] = frozenset()


def conditions(fleet: Control, now: datetime) -> Conditions:
    """The conditions that every waiting task of a home shares."""
    from fleet.control.budget_status import day_budgets  # `fleet ready` needs none of these

    holder, budgets = supervisor_of(fleet.home), day_budgets(fleet, now)
    published = read_status(fleet.home) if holder else SupervisorStatus()
    spent = [each for each in budgets if each.reached]
    supervisor = SupervisorNow(
        alive=holder is not None,
        pid=holder.who.pid if holder else None,
        since=holder.since if holder else None,
        paused_since=paused_since(fleet.home),
        runs=published.runs,
        slots=fleet.config.max_concurrent,
        queue_problem=published.queue_problem,
        shortage=published.shortage,
        hindrances=tuple(_hindrances(fleet, spent, now)),
        budgets=tuple(budgets),
        lost_log_lines=published.lost_log_lines,
    )
    return Conditions(
        now=now,
        supervisor=supervisor,
        on_account=published.on_account,
        stands_still=next((_spent_words(each) for each in spent if each.scope == "day"), ""),
        strange_coders=frozenset(untrusted_coders(fleet.home.path)),
    )


def own_conditions(fleet: Control, now: datetime) -> Conditions:
    """As far as `own_wait` needs them."""
    return Conditions(now=now, strange_coders=frozenset(untrusted_coders(fleet.home.path)))


def hindrances(fleet: Control, now: datetime) -> list[str]:
    """Why tasks are not started, a sentence each: logins that are held, budgets that are spent."""
    from fleet.control.budget_status import day_budgets

    return _hindrances(fleet, [each for each in day_budgets(fleet, now) if each.reached], now)


def _hindrances(fleet: Control, spent: Sequence[BudgetStatus], now: datetime) -> list[str]:
    from fleet.accounts.account_state import held_logins
    from fleet.accounts.account_store import open_accounts

    held = [
        f"{each.name} gets no work: {each.why}. To go on: {each.way_on}"
        for each in held_logins(open_accounts(fleet.home.path).states, now)
    ]
    return held + [_spent_words(each) for each in spent]


def _spent_words(status: BudgetStatus) -> str:
    """That a budget is spent: the whole day's budget keeps every task from starting, that of a
    project or an account only the tasks that would spend from it.
    """
    from fleet.spending.budgets import spent_words

    words = spent_words(status)
    if status.scope == "day":
        return f"Nothing starts: {words}"
    return f"{words[:1].upper()}{words[1:]}"


def why_not_now(
    fleet: Control,
    task: Task,
    at: Conditions,
    *,
    blockers: Sequence[str],
    coder: str,
    cwd: str,
) -> Waiting | None:
    """Why an open or deferred task does not run; None: its turn comes. `blockers`: the tasks that
    it waits for, of which the first is named.
    """
    own = _own_reason(fleet, task, at, coder, cwd)
    if own is not None:
        return own
    if blockers:
        way = WayOn(verb="", line=f"fleet show {blockers[0]}", task=blockers[0])
        return Waiting(reason=f"waits for {blockers[0]}", way_on=way)
    put_off = _put_off(fleet, task, at, with_why=True)
    return put_off or _no_host(fleet, task) or _shared_reason(at)


def own_wait(fleet: Control, task: Task, at: Conditions, *, coder: str, cwd: str) -> Waiting | None:
    """Why a task that is ready does not run, unless all that could run now wait for the same; of a
    task that was put off only until when.
    """
    own = _own_reason(fleet, task, at, coder, cwd)
    return own or _put_off(fleet, task, at, with_why=False) or _no_host(fleet, task)


def _own_reason(fleet: Control, task: Task, at: Conditions, coder: str, cwd: str) -> Waiting | None:
    """What concerns this task alone, and only a person can change."""
    compared = compare_json.shown(fleet.home, task.id)
    if compared is not None and compared.is_open:
        line = f"fleet compare {task.id}"
        return Waiting(reason="it is being compared", way_on=WayOn(verb="pick", line=line))
    if task.issue_type == "epic" or task.issue_type in NOT_WORK:
        return Waiting(reason=f"{_an(task.issue_type)} is not run: its tasks are")
    if not fleet.is_shared and untrusted(fleet.home, task):  # on a shared queue hosts decline it
        text = waits_text(task.id).partition(":")[0]
        return Waiting(reason=text, way_on=_line(f"fleet trust {task.id}"), person=True)
    if (wait := base_wait.waits(fleet.home, task.id)) is not None:
        return Waiting(reason=wait.reason, way_on=_line(wait.ways(task.id)[0]), person=True)
    if coder in at.strange_coders:
        return Waiting(
            reason=f"no person has trusted the file of the coder {coder}",
            way_on=_line(f"fleet coders trust {coder}"),
            person=True,
        )
    kept = task.assignee and task.lease_owner is None
    if kept and task.assignee != owner_file.read(fleet.home):
        return Waiting(
            reason=f"it is assigned to {task.assignee}",
            way_on=_line(f"fleet bd unclaim {task.id}"),
        )
    if not fleet.is_shared and not Path(cwd).is_dir():
        way = _line(f"fleet bd update {task.id} --cwd DIR")
        return Waiting(reason="its directory is gone", way_on=way, person=True)
    return None


def _put_off(fleet: Control, task: Task, at: Conditions, *, with_why: bool) -> Waiting | None:
    deferred = task.defer_until is not None and task.defer_until > at.now
    if task.status == "deferred" or deferred:
        return Waiting(
            reason="a person put it off",
            until=task.defer_until,
            way_on=_line(f"fleet bd undefer {task.id}"),
        )
    if task.not_before is not None and task.not_before > at.now:
        why = ""
        if with_why:
            from fleet.control.view.why_put_off import why_put_off  # `fleet show` seldom needs it

            why = why_put_off(fleet, task, at)
        return Waiting(
            reason=why or "it was put off for a moment",
            until=task.not_before,
            way_on=WayOn(verb="retry", line=f"fleet retry {task.id}"),
        )
    return None


def _no_host(fleet: Control, task: Task) -> Waiting | None:
    if not fleet.is_shared:
        return None
    from fleet.control.hosts.no_host_fits import no_host_fits

    why = no_host_fits(fleet, task)
    return Waiting(reason=why, way_on=_line("fleet hosts"), person=True) if why else None


def _shared_reason(at: Conditions) -> Waiting | None:
    """What every task that could run now waits for."""
    now = at.supervisor
    if not now.alive:
        return Waiting(reason="no supervisor runs", way_on=_line("fleet run"))
    if now.paused_since is not None:
        return Waiting(reason="fleet is paused", way_on=WayOn(verb="resume", line="fleet resume"))
    if now.queue_problem:
        return Waiting(reason=f"the queue fails: {now.queue_problem}")
    if now.shortage:
        return Waiting(reason=f"the machine is short: {now.shortage}")
    if at.stands_still:
        return Waiting(reason=at.stands_still)
    if now.runs >= now.slots:
        return Waiting(
            reason="the only slot is in use"
            if now.slots == 1
            else f"all {now.slots} slots are in use",
            way_on=_line(f"fleet config set max_concurrent={now.slots + 1}"),
        )
    return None


def _an(word: str) -> str:
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


def _line(line: str) -> WayOn:
    return WayOn(verb="", line=line)
