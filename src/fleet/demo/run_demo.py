"""Runs the demo: makes the tasks, starts the supervisor, plays the person, and watches the end."""

import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from fleet import control
from fleet.control import Control
from fleet.control.tasks.in_progress import in_progress
from fleet.control.tasks.questions import answer
from fleet.control.tasks.task_files import log_line
from fleet.demo.demo_home import SETTINGS, DemoHome
from fleet.demo.script import ANSWER, KILLED_DURING, TASKS, DemoTask
from fleet.demo.summary import DemoReport, DemoRow, RowState, is_to_land
from fleet.files.tail import Follower
from fleet.home import Home, landing_json
from fleet.home.landing_json import Landing
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import all_runs
from fleet.schemas import RateLimited, Task
from fleet.schemas.waits import Asks

#: Seconds between two looks at the queue.
_PAUSE = 0.2
#: Seconds for which a question stays on the screen before it is answered.
_READING_S = 1.5
#: Seconds after which a demo is broken; it takes less than half a minute, and on a machine that has
#: much else to do some minutes.
_LONGEST = 300.0


class DemoRun:
    """What both demos share: the tasks that were made, the log on the screen, and the person.

    `say` gets each line of the log with its style, `show` the tasks whenever they were read.
    """

    def __init__(
        self, say: Callable[[str, str], None], show: Callable[[Sequence[DemoRow]], None]
    ) -> None:
        self._print, self._draw = say, show
        self._began = time.monotonic()
        #: The demo's tasks by the id that the queue gave them, in the order of creation.
        self._tasks: dict[str, DemoTask] = {}
        #: When the person began to read a question; None: there is none.
        self._asked_at: float | None = None

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _say(self, text: str, style: str = "") -> None:
        self._print(f"{self._seconds:5.1f} s  {text}", style)

    def _create(self, place: DemoHome, task: DemoTask) -> None:
        """Create a task as a person does: on the command line, in the project's directory."""
        ids = {made.key: task_id for task_id, made in self._tasks.items()}
        words = ["bd", "create", task.title, "-p", str(task.priority)]
        words += ["--coder", task.coder, "--model", task.behaviour, *task.flags]
        if task.needs:
            words += ["--deps", ",".join(ids[key] for key in task.needs)]
        task_id = place.fleet(*words, "--silent")
        self._tasks[task_id] = task
        self._say(f"{place.name}$ fleet {shlex.join(words)}  → {task_id}", "bold")

    def _answer(self, fleet: Control, rows: Sequence[DemoRow], who: str = "") -> None:
        """Answer the first task that asks, once a person could have read the question."""
        asking = [row.task.id for row in rows if row.state == "asking"]
        if not asking:
            self._asked_at = None
        elif self._asked_at is None:
            self._asked_at = time.monotonic()
        elif time.monotonic() > self._asked_at + _READING_S:
            answer(fleet, fleet.get(asking[0]), ANSWER, at=datetime.now().astimezone())
            self._say(f"{who}$ fleet answer {asking[0]} {shlex.quote(ANSWER)}", "bold magenta")

    def _titled(self, text: str) -> str:
        """A line of a log; one about a task with the title, named once."""
        if (task := self._tasks.get(text.partition(":")[0])) is None:
            return text
        task_id, _, rest = text.removesuffix(f": {task.title}").partition(":")
        return f"{task_id} {task.title}:{rest}"


def commits(place: DemoHome, branch: str) -> tuple[str, ...]:
    """What the branch got, oldest first."""
    told = place.git("log", "--first-parent", "--reverse", "--format=%h %s", branch)
    return tuple(told.splitlines())


class Demo(DemoRun):
    """One demo in one temporary home."""

    def __init__(
        self,
        place: DemoHome,
        say: Callable[[str, str], None],
        show: Callable[[Sequence[DemoRow]], None],
    ) -> None:
        super().__init__(say, show)
        self._place = place
        self._journal = JournalTail(place.home)
        #: The supervisor's log: action and sentence.
        self._log: list[tuple[str, str]] = []
        self._killed = False
        #: Keys of the tasks whose runs were adopted, and of those that were given their cue.
        self._adopted: set[str] = set()
        self._cued: set[str] = set()
        self._pid = 0

    def run(self) -> DemoReport:
        self._say("$ git init; git commit; fleet init --queue embedded --land auto", "bold")
        self._say(f"$ fleet config set {' '.join(SETTINGS)}", "bold")
        self._place.set_up()
        fleet = control.opened(self._place.env)
        try:
            for task in TASKS:
                if not task.late:
                    self._create(self._place, task)
                    self._show(fleet)
            self._say("$ fleet run", "bold")
            self._pid = self._place.start_supervisor()
            rows, trouble = self._watch(fleet)
        finally:
            fleet.close()
        self._place.stop()
        self._show_log()
        return DemoReport(
            rows=tuple(rows),
            log=tuple(self._log),
            commits=commits(self._place, "main"),
            seconds=self._seconds,
            killed=self._killed,
            trouble=trouble,
        )

    def _watch(self, fleet: Control) -> tuple[list[DemoRow], str]:
        """Wait for the end; returns the last rows, and what went wrong with the demo."""
        while True:
            rows = self._show(fleet)
            self._act(fleet, rows)
            if is_over(rows) and len(self._tasks) == len(rows) == len(TASKS):
                return rows, ""
            failure = self._place.supervisor_failure()
            if failure is not None:
                return rows, f"the supervisor ended: {failure}"
            if self._seconds > _LONGEST:
                return rows, f"not over after {_LONGEST:.0f} s"
            time.sleep(_PAUSE)

    def _show(self, fleet: Control) -> list[DemoRow]:
        rows = read_rows(fleet, self._tasks, datetime.now(UTC))
        self._draw(rows)
        self._show_log()
        return rows

    def _act(self, fleet: Control, rows: list[DemoRow]) -> None:
        """Do what people do in this demo: kill the supervisor, add a task, answer a question; and
        let those agents go on whose cue has come.
        """
        for key in due_cues(rows, self._adopted) - self._cued:
            self._place.give_cue(key)
            self._cued.add(key)
        if not self._killed and any(_may_kill(row) for row in rows):
            self._kill()
        limited = any(isinstance(e.outcome, RateLimited) for row in rows for e in row.endings)
        if (self._killed and limited) or is_over(rows):
            for task in TASKS:
                if task not in self._tasks.values():
                    self._create(self._place, task)
        self._answer(fleet, rows)

    def _kill(self) -> None:
        self._killed = True
        self._place.kill_supervisor()
        self._say(f"$ kill -9 {self._pid}  (the supervisor); fleet run", "bold red")
        self._pid = self._place.start_supervisor()

    def _show_log(self) -> None:
        for action, text in self._journal.read():
            self._log.append((action, text))
            task = self._tasks.get(text.partition(":")[0])
            if task and action == "adopted":
                self._adopted.add(task.key)
            self._say(self._titled(text))


def _may_kill(row: DemoRow) -> bool:
    """The agent is at work, and has enough to do to outlive a supervisor."""
    working = row.state == "running" and row.events > 0
    return row.demo_task.key == KILLED_DURING and working and not row.endings


def due_cues(rows: Sequence[DemoRow], adopted: Collection[str]) -> set[str]:
    """The keys of the tasks whose agents may go on. Pure."""
    states = {row.demo_task.key: row for row in rows}
    due: set[str] = set()
    for row in rows:
        cue = row.demo_task.cue
        other = states.get(cue.key) if cue else None
        if cue is None or other is None:
            continue
        match cue.is_:
            case "adopted":
                came = cue.key in adopted
            case "at work":
                came = other.events > 0 or bool(other.endings)
            case "landed":
                came = other.state == "closed"
            case "moved":
                came = False  # there is one host
        if came:
            due.add(row.demo_task.key)
    return due


def is_over(rows: Sequence[DemoRow]) -> bool:
    """No task can go on without a person, and none asks a question."""
    return all(row.state in ("closed", "blocked", "waiting") for row in rows)


def read_rows(fleet: Control, made: Mapping[str, DemoTask], now: datetime) -> list[DemoRow]:
    """One row for each task that was made, from the queue and the task directories."""
    tasks = {task.id: task for task in fleet.queue.find(Filter(include_closed=True))}
    events = {each.id: each.progress.events for each in in_progress(fleet)}
    ids = {demo_task.key: task_id for task_id, demo_task in made.items()}
    rows: list[DemoRow] = []
    for task_id, demo_task in made.items():
        runs = all_runs(fleet.home.task(task_id))
        endings = tuple(e for run in runs if (e := read_ending(run)) is not None)
        needs = [tasks[ids[key]] for key in demo_task.needs]
        landing = landing_json.read(fleet.home, task_id)
        state, what = state_of(tasks[task_id], endings, needs, now, landing)
        row = DemoRow(
            demo_task=demo_task, task=tasks[task_id], state=state, what=what, endings=endings,
            events=events.get(task_id, 0),
        )  # fmt: skip
        rows.append(row)
    return rows


def state_of(
    task: Task,
    endings: Sequence[Ending],
    needs: Sequence[Task],
    now: datetime,
    landing: Landing | None = None,
) -> tuple[RowState, str]:
    """What a task does or waits for; `needs` have to be closed first. Pure."""
    last = endings[-1] if endings else None
    missing = [need.title for need in needs if need.status != "closed"]
    match task.status:
        case "closed":
            return "closed", task.close_reason.partition(" [run")[0]
        case "in_progress":
            return "running", landing.words() if landing is not None else ""
        case "blocked" if landing is not None and last is not None and _may_land(last, landing):
            return "landing", landing.words()
        case "blocked" if isinstance(task.waits, Asks):
            return "asking", task.waits.text
        case "blocked":
            return "blocked", last.why if last else task.why_blocked
        case _ if task.not_before and task.not_before > now:
            return "pausing", _pause(last, (task.not_before - now).total_seconds())
        case _ if missing:
            return "waiting", f"for: {', '.join(missing)}"
        case _ if landing is not None:
            return "ready", landing.words()
        case _:
            return "ready", last.why if last else ""


def _may_land(last: Ending, landing: Landing) -> bool:
    """The lander has the work of the last run, and no person was asked."""
    return is_to_land(last) and landing.state not in ("asks", "held")


def _pause(last: Ending | None, seconds: float) -> str:
    if last is None:  # claimed, and released before a run was started
        return f"{seconds:.0f} s: its coder has reached a limit"
    if isinstance(last.outcome, RateLimited):
        return f"{seconds:.0f} s until the limit resets"
    return f"{seconds:.0f} s, then again: {last.why}"


class JournalTail:
    """New lines of the supervisor's log, across days and supervisors."""

    def __init__(self, home: Home) -> None:
        self._folder = home.logging
        self._followers: dict[str, Follower] = {}

    def read(self) -> list[tuple[str, str]]:
        """The action and the sentence of each line since the last call."""
        new: list[tuple[str, str]] = []
        for path in sorted(self._folder.glob("fleet-*.jsonl")):
            follower = self._followers.setdefault(path.name, Follower(path))
            found = (log_line(line.data) for line in follower.read())
            new += [(told.action, told.text) for told in found if told is not None]
        return new
