"""Runs the demo of hosts: starts a supervisor on each, makes the tasks, cuts a link, answers."""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from fleet import control
from fleet.control import Control
from fleet.control.view.why_not_now import GateReader, conditions
from fleet.demo.demo_home import DemoHome
from fleet.demo.demo_hosts import DemoHosts
from fleet.demo.run_demo import DemoRun, JournalTail, commits
from fleet.demo.script import CUT_OFF, HOST_TASKS, NOWHERE, DemoTask
from fleet.demo.summary import DemoRow, HostsReport, RowState
from fleet.home import owner_file
from fleet.queue.protocol import Filter
from fleet.queue.sql.hosts import host_table
from fleet.runs.run_directory import Run, all_runs
from fleet.schemas import Task
from fleet.schemas.shown_text import first_line
from fleet.schemas.waits import Asks

_PAUSE = 0.3
#: Seconds after which a demo is broken; it takes about a minute, and on a busy machine some.
_LONGEST = 420.0
#: What is told of each host's log.
_SHOWN = frozenset({
    "host_up", "run_started", "settled", "lease_lost", "travel", "landed", "landing", "silent",
})  # fmt: skip


class HostsDemo(DemoRun):
    """One demo on several hosts."""

    def __init__(
        self,
        place: DemoHosts,
        count: int,
        say: Callable[[str, str], None],
        show: Callable[[Sequence[DemoRow]], None],
    ) -> None:
        super().__init__(say, show)
        self._place, self._count = place, count
        self._journals: dict[str, JournalTail] = {}
        #: The host that was cut off, when, and whether its link is there again.
        self._cut: DemoHome | None = None
        self._cut_at = datetime.min.replace(tzinfo=UTC)
        self._moved = False

    def run(self) -> HostsReport:
        count = self._count
        self._say(f"{count} hosts, each in a network of its own; PostgreSQL in another", "bold")
        self._place.set_up(count)
        fleet = control.opened(self._place.person.env)
        try:
            for host in self._place.hosts:
                self._say(f"{host.name}$ fleet run", "bold")
                host.start_supervisor()
                self._journals[host.name] = JournalTail(host.home)
            trouble = self._until(lambda: len(host_table.hosts(fleet.tracker)) == count)
            if not trouble:
                self._create_all(fleet)
                trouble = self._until(lambda: self._is_over(fleet))
            rows = self._rows(fleet)
            dead, begun = self._takeover(fleet)
        finally:
            fleet.close()
        return HostsReport(
            rows=tuple(rows),
            cut=self._cut.name if self._cut else "",
            dead_after=dead,
            begun_after=begun,
            commits=self._commits(),
            seconds=self._seconds,
            trouble=trouble,
        )

    def _create_all(self, fleet: Control) -> None:
        for task in HOST_TASKS:
            self._create(self._place.person, task)
            self._show(fleet)

    def _until(self, fact: Callable[[], bool]) -> str:
        """Wait for a fact; what went wrong meanwhile, or nothing."""
        while not fact():
            for host in self._place.hosts:
                if (failure := host.supervisor_failure()) is not None:
                    return f"the supervisor of {host.name} ended: {failure}"
            if self._seconds > _LONGEST:
                return f"not over after {_LONGEST:.0f} s"
            self._show_logs()
            time.sleep(_PAUSE)
        return ""

    def _is_over(self, fleet: Control) -> bool:
        """Do what people do, and see whether all is done but what no host fits."""
        rows = self._show(fleet)
        self._act(fleet, rows)
        return all(row.task.status == "closed" or row.demo_task.key == NOWHERE for row in rows)

    def _act(self, fleet: Control, rows: Sequence[DemoRow]) -> None:
        moving = next(row for row in rows if row.demo_task.key == CUT_OFF)
        if self._cut is None:
            host = self._at_work(moving.task)
            if host is not None:
                self._place.network.set_link(host.name, "down")
                self._cut, self._cut_at = host, datetime.now(UTC)
                self._say(f"$ ip link set to-{host.name} down", "red")
        elif not self._moved and (host := self._at_work(moving.task)) not in (None, self._cut):
            self._moved = True
            self._place.network.set_link(self._cut.name, "up")
            self._say(f"$ ip link set to-{self._cut.name} up", "bold")
            for each in self._place.hosts:
                each.give_cue(CUT_OFF)
        self._answer(fleet, rows, self._place.person.name)

    def _at_work(self, task: Task) -> DemoHome | None:
        """The host that holds the task, once the agent has begun."""
        for host in self._place.hosts:
            if owner_file.read(host.home) == task.lease_owner:
                run = self._last_run(host, task.id)
                return host if run is not None and run.started() and not run.exit() else None
        return None

    def _last_run(self, host: DemoHome, task_id: str) -> Run | None:
        """The latest run that was made on this host."""
        runs = [run for run in all_runs(host.home.task(task_id)) if not run.host]
        return runs[-1] if runs else None

    def _takeover(self, fleet: Control) -> tuple[float | None, float | None]:
        """Seconds from the cut to the end of the agent there, and to the next run's begin."""
        moved = next((key for key, task in self._tasks.items() if task.key == CUT_OFF), "")
        if self._cut is None or not moved:
            return None, None
        first = self._last_run(self._cut, moved)
        ended = first.exit() if first is not None else None
        last = fleet.get(moved).last_host
        others = [h for h in self._place.hosts if owner_file.read(h.home) == last]
        second = self._last_run(others[0], moved) if others else None
        began = second.started() if second is not None and others[0] is not self._cut else None
        return (
            (ended.ended_at - self._cut_at).total_seconds() if ended is not None else None,
            (began.at - self._cut_at).total_seconds() if began is not None else None,
        )

    def _show(self, fleet: Control) -> list[DemoRow]:
        rows = self._rows(fleet)
        self._draw(rows)
        self._show_logs()
        return rows

    def _rows(self, fleet: Control) -> list[DemoRow]:
        found = {task.id: task for task in fleet.queue.find(Filter(include_closed=True))}
        return [
            self._row(fleet, found[task_id], task)
            for task_id, task in self._tasks.items()
            if task_id in found
        ]

    def _row(self, fleet: Control, task: Task, demo_task: DemoTask) -> DemoRow:
        runs = {
            run.number: host.name
            for host in self._place.hosts
            for run in all_runs(host.home.task(task.id))
            if not run.host
        }
        hosts = tuple(runs[number] for number in sorted(runs))
        state, what = _state_of(task)
        if demo_task.key == NOWHERE and state == "ready":
            gates = GateReader(fleet, conditions(fleet, datetime.now(UTC)))
            wait = gates.why_not(task, fleet.place(task))
            what = wait.reason if wait is not None else ""
        return DemoRow(demo_task=demo_task, task=task, state=state, what=what, hosts=hosts)

    def _show_logs(self) -> None:
        for name, journal in self._journals.items():
            for action, text in journal.read():
                if action in _SHOWN:
                    self._say(f"{name}: {self._titled(text)}")

    def _commits(self) -> tuple[str, ...]:
        self._place.person.git("fetch", "-q", "origin")
        return commits(self._place.person, "origin/main")


def _state_of(task: Task) -> tuple[RowState, str]:
    """What a task does or waits for, by the queue alone. Pure."""
    match task.status:
        case "closed":
            return "closed", task.close_reason.partition(" [run")[0].partition("\n")[0]
        case "in_progress":
            return "running", ""
        case "blocked" if task.waits_to_land:
            return "landing", ""
        case "blocked" if isinstance(task.waits, Asks):
            return "asking", first_line(task.waits.text)
        case "blocked":
            return "blocked", task.why_blocked
        case _:
            return "ready", ""
