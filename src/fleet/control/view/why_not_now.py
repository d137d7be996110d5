"""What a surface knows of a home at one moment, read from its files, and why tasks do not start:
for `fleet ready`, `fleet show`, `fleet tasks`, `fleet top` and the page alike.

The gates of `fleet.extend` decide, as they do for the supervisor. What the supervisor alone knows
it publishes in `supervisor.json`.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from fleet import __version__
from fleet.accounts import candidates
from fleet.accounts.account_gate import AccountFacts, SeatFacts, as_far_as_it_holds
from fleet.accounts.account_state import HeldLogin, held_logins
from fleet.accounts.account_store import open_accounts
from fleet.accounts.choose_account import AccountStanding, Seat
from fleet.coders.trusted_files import StrangeCoders
from fleet.coders.trusted_files import untrusted as untrusted_coders
from fleet.control import Control, accounts
from fleet.control.budget_status import day_budgets
from fleet.control.pause import paused_since
from fleet.control.view.home_moment import home_moment, supervision
from fleet.errors import FleetError
from fleet.extend import (
    HomeMoment,
    SubjectFacts,
    TaskStart,
    home_gates,
    own_gates,
    why_none,
    why_not,
)
from fleet.home import base_wait, compare_json
from fleet.home.base_wait import BaseFacts
from fleet.home.compare_json import ComparisonFacts
from fleet.home.status_file import ShutAccount
from fleet.home.task_json import local_settings
from fleet.home.trusted_commands import StrangeCommands, untrusted
from fleet.queue.sql.hosts.host_gate import Declines, QueueHosts
from fleet.runs.outcome_history import spent_before
from fleet.schemas import Settings, Task
from fleet.schemas.budget import BudgetStatus
from fleet.schemas.task_state import Wait
from fleet.spending.budget_gates import DayBudgets, TaskSpend
from fleet.spending.budgets import next_day, spent_words

if TYPE_CHECKING:
    from fleet.accounts.candidates import Place


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

    at: HomeMoment
    supervisor: SupervisorNow = SupervisorNow()
    #: What the supervisor published of accounts: the tasks that run on each, the tasks at work that
    #: try one for all others, and what it alone knows of some.
    on_account: Mapping[str, tuple[str, ...]] = {}
    probes: tuple[str, ...] = ()
    shut: Mapping[str, ShutAccount] = {}

    def as_of(self, now: datetime) -> "Conditions":
        """The same at another moment."""
        return structs.replace(self, at=structs.replace(self.at, now=now))


def conditions(fleet: Control, now: datetime) -> Conditions:
    """The conditions that every waiting task of a home shares."""
    (holder, published), budgets = supervision(fleet), tuple(day_budgets(fleet, now))
    since, known = paused_since(fleet.home), open_accounts(fleet.home.path).states
    supervisor = SupervisorNow(
        alive=holder is not None,
        pid=holder.who.pid if holder else None,
        since=holder.since if holder else None,
        paused_since=since,
        runs=published.runs,
        slots=fleet.config.max_concurrent,
        queue_problem=published.queue_problem,
        shortage=published.shortage,
        hindrances=tuple(_hindrances(held_logins(known, now), budgets)),
        budgets=budgets,
        lost_log_lines=published.lost_log_lines,
    )
    declared, usual = fleet.config.accounts, fleet.config.stop_at
    states = {
        name: as_far_as_it_holds(state, declared[name].stop_at if name in declared else usual, now)
        for name, state in known.items()
    }
    facts = (
        DayBudgets(statuses=budgets),
        AccountFacts(states=states),
        StrangeCoders(names=frozenset(untrusted_coders(fleet.home.path))),
    )
    at = home_moment(fleet, now, holder, published, facts)
    return Conditions(
        at=at,
        supervisor=supervisor,
        on_account=published.on_account,
        probes=published.probes,
        shut=published.accounts,
    )


def hindrances(fleet: Control, now: datetime) -> list[str]:
    """Why tasks are not started, a sentence each: logins that are held, budgets that are spent."""
    held = held_logins(open_accounts(fleet.home.path).states, now)
    return _hindrances(held, day_budgets(fleet, now))


def _hindrances(held: Sequence[HeldLogin], budgets: Sequence[BudgetStatus]) -> list[str]:
    lines = [f"{each.name} gets no work: {each.why}. To go on: {each.way_on}" for each in held]
    return lines + [_spent_words(each) for each in budgets if each.reached]


def _spent_words(status: BudgetStatus) -> str:
    """That a budget is spent: the whole day's budget keeps every task from starting, that of a
    project or an account only the tasks that would spend from it.
    """
    words = spent_words(status)
    if status.scope == "day":
        return f"Nothing starts: {words}"
    return f"{words[:1].upper()}{words[1:]}"


def why_nothing_starts(at: Conditions) -> Wait | None:
    """Why no task of the home starts now."""
    return why_none(home_gates(), at.at)


class GateReader:
    """Asks the gates about tasks of one home at one moment, with what files tell of each task."""

    def __init__(self, fleet: Control, at: Conditions) -> None:
        self._fleet, self.at = fleet, at
        self._troubles: dict[str, str] = {}
        self._places: dict[Settings, Place] = {}
        self._missing: dict[str, bool] = {}

    @cached_property
    def _coder(self) -> str | None:
        holder = supervision(self._fleet)[0]
        return holder.coder if holder is not None else None

    def place(self, task: Task) -> "Place":
        """Where and with what a task would run; worked out once for tasks with the same settings.
        Raises InvalidTask.
        """
        home, config = self._fleet.home, self._fleet.config
        own = local_settings(home, task)
        if own not in self._places:
            place = candidates.place_for(home, config, own, task.id, coder=self._coder)
            self._places[own] = place
        return self._places[own]

    @cached_property
    def _on_disk(self) -> frozenset[str]:
        """The tasks with a directory: of others no file is read."""
        with suppress(FileNotFoundError):
            return frozenset(os.listdir(self._fleet.home.tasks))  # noqa: PTH208
        return frozenset()

    def _is_missing(self, directory: str) -> bool:
        if directory not in self._missing:
            # Not Path.is_dir, which raises below a directory that is closed to this user.
            self._missing[directory] = not os.path.isdir(directory)  # noqa: PTH112
        return self._missing[directory]

    @cached_property
    def _hosts(self) -> QueueHosts:
        from fleet.control.hosts.hosts_now import state_of  # only a shared queue has hosts
        from fleet.queue.sql.hosts import host_table

        queue = self._fleet.tracker
        now, known = queue.db.now(), tuple(host_table.hosts(queue))
        up = tuple(host for host in known if state_of(host, now) == "up")
        return QueueHosts(known=known, up=up)

    def why_not(self, task: Task, place: "Place", blockers: Sequence[str] = ()) -> Wait | None:
        """Why an open or deferred task does not start; None: its turn comes. `blockers`: the tasks
        that it waits for, of which the first is named.
        """
        at, start = self.at.at, self._task_start(task, place, tuple(blockers))
        wait = why_not(own_gates(), start, at)
        if self._fleet.is_shared and (wait is None or wait == why_none(home_gates(), at)):
            wait = self._on_hosts(start)
        if wait is None or task.not_before is None or task.not_before <= at.now:
            return wait
        # The same still holds the task, which comes back by then at the latest.
        if wait.until is not None or wait.person:
            return wait
        return structs.replace(wait, until=task.not_before)

    def _on_hosts(self, start: TaskStart) -> Wait | None:
        """The answer with what the hosts of a shared queue have, which costs a question each."""
        from fleet.queue.sql.hosts import host_table

        at = structs.replace(self.at.at, facts=(self._hosts, *self.at.at.facts))
        found = host_table.declines_of(self._fleet.tracker, start.task.id)
        known = (Declines(declines=tuple(found)), *start.facts)
        return why_not(own_gates(), structs.replace(start, facts=known), at)

    def _task_start(self, task: Task, place: "Place", blockers: tuple[str, ...]) -> TaskStart:
        home, shared, facts = self._fleet.home, self._fleet.is_shared, list[SubjectFacts]()
        policy, on_disk = place.ruled.policy, home.task(task.id).name in self._on_disk
        compared = compare_json.shown(home, task.id) if on_disk else None
        if compared is not None and compared.is_open:
            facts.append(ComparisonFacts(is_open=True))
        # On a shared queue hosts decline it.
        if policy.verify_is_own and not shared and (commands := untrusted(home, task)):
            facts.append(StrangeCommands(commands=commands))
        if on_disk and (base := base_wait.waits(home, task.id)) is not None:
            facts.append(BaseFacts(wait=base))
        if policy.budget:
            facts.append(TaskSpend(spent=spent_before(home.task(task.id))))
        facts.append(self._seats(task, place))
        return TaskStart(
            task=task,
            cwd=place.cwd,
            is_missing=not shared and self._is_missing(place.cwd),
            project=self._fleet.config.project(place.cwd).path,
            coders=(place.coder, *(each.name for each in place.fallback if each.kind == "coder")),
            policy=policy,
            blockers=blockers,
            facts=tuple(facts),
        )

    def _seats(self, task: Task, place: "Place") -> SeatFacts:
        """The seats of a task; without any if its coder or its chain is invalid, which the start
        finds.
        """
        if self._fleet.is_shared and task.not_before is None:  # each host has accounts of its own
            return SeatFacts()
        try:
            stages = candidates.stages_of(place, self._fleet.config, self._fleet.home.path)
            seats = [seat for stage in stages for seat in stage]
            standings = {seat.account.name: self._standing(seat, task) for seat in seats}
        except FleetError:
            return SeatFacts()
        return SeatFacts(stages=stages, standings=standings)

    def _standing(self, seat: Seat, task: Task) -> AccountStanding:
        at, name = self.at, seat.account.name
        known, now = at.shut.get(name, ShutAccount()), at.at.now
        trouble, until = self._trouble(seat, task, known, now)
        return AccountStanding(
            running=len(at.on_account.get(name, ())),
            task_id=task.id,
            at_work=frozenset(at.probes) - {task.id},
            login_ends=known.login_ends,
            readying=known.readying,
            trouble=trouble,
            trouble_until=until,
        )

    def _trouble(
        self, seat: Seat, task: Task, known: ShutAccount, now: datetime
    ) -> tuple[str, datetime | None]:
        name = seat.account.name
        for status in self.at.supervisor.budgets:
            if status.reached and status.scope == "account" and status.name == name:
                return spent_words(status), next_day(now)
        return known.trouble or self._own_trouble(seat, task), None

    def _own_trouble(self, seat: Seat, task: Task) -> str:
        """What this process sees of an account that a task was put off for, where no supervisor
        runs whose environment and keyring would count.
        """
        account = seat.account
        if account.is_own or self.at.supervisor.alive or task.not_before is None:
            return ""
        if account.name not in self._troubles:
            found = accounts.trouble(account, self._fleet.home.path)
            text = f"account {account.name} gets no work: {found}" if found else ""
            self._troubles[account.name] = text
        return self._troubles[account.name]
