"""Runs the demo of hosts: starts a supervisor on each, makes the tasks, cuts a link, answers."""

import shlex
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from fleet import control
from fleet.control import Control
from fleet.control.hosts.no_host_fits import no_host_fits
from fleet.demo.hosts.demo_hosts import DemoHost, DemoHosts
from fleet.demo.hosts.host_tasks import CUT_OFF, HOST_TASKS, NOWHERE
from fleet.demo.hosts.hosts_summary import HostsReport
from fleet.demo.run_demo import DemoPerson, JournalTail, titled
from fleet.demo.script import DemoTask
from fleet.demo.summary import DemoRow, RowState
from fleet.home import owner_file
from fleet.queue.protocol import Filter
from fleet.queue.sql.hosts import host_table
from fleet.runs.questions.questions_file import MARK
from fleet.runs.run_directory import Run, all_runs
from fleet.schemas import Task

_PAUSE = 0.3
#: Seconds after which a demo is broken; it takes about a minute, and on a busy machine some.
_LONGEST = 420.0
#: What is told of each host's log.
_SHOWN = frozenset({
    "host_up", "run_started", "settled", "lease_lost", "travel", "landed", "landing", "silent",
})  # fmt: skip


class HostsDemo:
    """One demo on several hosts. `say` and `show` are as for `Demo`."""

    def __init__(
        self,
        place: DemoHosts,
        count: int,
        say: Callable[[str, str], None],
        show: Callable[[Sequence[DemoRow]], None],
    ) -> None:
        self._place, self._count, self._print, self._draw = place, count, say, show
        self._began = time.monotonic()
        self._tasks: dict[str, DemoTask] = {}
        self._journals: dict[str, JournalTail] = {}
        self._person = DemoPerson()
        #: The host that was cut off, when, and whether its link is there again.
        self._cut: DemoHost | None = None
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
                host.place.start_supervisor()
                self._journals[host.name] = JournalTail(host.place.home)
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

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _create_all(self, fleet: Control) -> None:
        for task in HOST_TASKS:
            self._create(task)
            self._show(fleet)

    def _until(self, fact: Callable[[], bool]) -> str:
        """Wait for a fact; what went wrong meanwhile, or nothing."""
        while not fact():
            for host in self._place.hosts:
                if (failure := host.place.supervisor_failure()) is not None:
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
                self._place.network.cut(host.number)
                self._cut, self._cut_at = host, datetime.now(UTC)
                self._say(f"$ ip link set to{host.number} down  (the link of {host.name})", "red")
        elif not self._moved and (host := self._at_work(moving.task)) not in (None, self._cut):
            self._moved = True
            self._place.network.mend(self._cut.number)
            self._say(f"$ ip link set to{self._cut.number} up", "bold")
            for each in self._place.hosts:
                each.place.give_cue(CUT_OFF)
        asking = [row.task.id for row in rows if row.state == "asking"]
        if typed := self._person.answer(fleet, asking):
            self._say(f"person$ {typed}", "bold magenta")

    def _at_work(self, task: Task) -> DemoHost | None:
        """The host that holds the task, once the agent has begun."""
        for host in self._place.hosts:
            if owner_file.read(host.place.home) == task.lease_owner:
                run = self._last_run(host, task.id)
                return host if run is not None and run.started() and not run.exit() else None
        return None

    def _last_run(self, host: DemoHost, task_id: str) -> Run | None:
        """The latest run that was made on this host."""
        runs = [run for run in all_runs(host.place.home.task(task_id)) if not run.host]
        return runs[-1] if runs else None

    def _takeover(self, fleet: Control) -> tuple[float | None, float | None]:
        """Seconds from the cut to the end of the agent there, and to the next run's begin."""
        moved = next((key for key, task in self._tasks.items() if task.key == CUT_OFF), "")
        if self._cut is None or not moved:
            return None, None
        first = self._last_run(self._cut, moved)
        ended = first.exit() if first is not None else None
        last = fleet.get(moved).last_host
        others = [h for h in self._place.hosts if owner_file.read(h.place.home) == last]
        second = self._last_run(others[0], moved) if others else None
        began = second.started() if second is not None and others[0] is not self._cut else None
        return (
            (ended.ended_at - self._cut_at).total_seconds() if ended is not None else None,
            (began.at - self._cut_at).total_seconds() if began is not None else None,
        )

    def _create(self, task: DemoTask) -> None:
        words = ["bd", "create", task.title, "-p", str(task.priority)]
        words += ["--coder", task.coder, "--model", task.behaviour, *task.flags]
        task_id = self._place.person.fleet(*words, "--silent")
        self._tasks[task_id] = task
        self._say(f"person$ fleet {shlex.join(words)}  → {task_id}", "bold")

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
            for run in all_runs(host.place.home.task(task.id))
            if not run.host
        }
        hosts = tuple(runs[number] for number in sorted(runs))
        state, what = _state_of(task)
        if demo_task.key == NOWHERE and state == "ready":
            what = no_host_fits(fleet, task)
        return DemoRow(demo_task=demo_task, task=task, state=state, what=what, hosts=hosts)

    def _show_logs(self) -> None:
        for name, journal in self._journals.items():
            for action, text in journal.read():
                if action in _SHOWN:
                    task = self._tasks.get(text.partition(":")[0])
                    self._say(f"{name}: {titled(text, task.title) if task else text}")

    def _say(self, text: str, style: str = "") -> None:
        self._print(f"{self._seconds:5.1f} s  {text}", style)

    def _commits(self) -> tuple[str, ...]:
        self._place.person.git("fetch", "-q", "origin")
        told = self._place.person.git(
            "log", "--first-parent", "--reverse", "--format=%h %s", "origin/main"
        )
        return tuple(told.splitlines())


def _state_of(task: Task) -> tuple[RowState, str]:
    """What a task does or waits for, by the queue alone. Pure."""
    match task.status:
        case "closed":
            return "closed", task.close_reason.partition(" [run")[0].partition("\n")[0]
        case "in_progress":
            return "running", ""
        case "blocked" if task.waits_to_land:
            return "landing", ""
        case "blocked" if MARK in task.notes:
            return "asking", task.notes.rpartition(MARK)[2].strip().partition("\n")[0]
        case "blocked":
            return "blocked", task.notes
        case _:
            return "ready", ""
