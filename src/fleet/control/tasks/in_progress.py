"""`fleet tasks`: the tasks in progress, each with a run as the files tell it.

Nothing is locked, written or signalled.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct, structs

from fleet.accounts.candidates import Place
from fleet.control import Control
from fleet.control.hosts.other_hosts import RunsElsewhere, runs_elsewhere
from fleet.errors import InvalidTask
from fleet.home import owner_file
from fleet.processes import keeper_client
from fleet.processes.keeper_client import Ended, Running
from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue.protocol import Filter
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Run, Started, latest_run
from fleet.runs.run_id import RunId
from fleet.schemas import Lease, Task
from fleet.schemas.task_state import (
    AskedNow,
    AtWork,
    OnTheWay,
    Standing,
    TaskFacts,
    WayOn,
    answer_line,
    state_of,
)
from fleet.watchdog.run_limits import OVER

Doing = Literal[
    "running",
    #: The agent was told to end, and has not yet.
    "stopping",
    #: The run is over, or not begun, and the supervisor is about to act on it.
    "starting",
    "settling",
    #: The run is over, and its claim is checked: the repository, the verify commands.
    "verifying",
    #: The agent works without a supervisor; a new supervisor adopts the run.
    "unsupervised",
    #: No process lives, and nothing happens before a supervisor starts.
    "waiting",
    #: The supervisor of another home holds the task.
    "elsewhere",
    #: A person took the task.
    "held",
    #: No run: accepted work is on the way to the branch (`with_landings`).
    "landing",
    "invalid",
]

#: Why fleet ends a run, by the name of the outcome that the run will have.
_ENDING = {
    "Stopped": "as asked",
    "ContextFull": "its context is full, it goes on in a fresh session",
    "Stalled": "it gets nowhere",
    "LimitExceeded": "it used up what it was given",
    "RateLimited": "its account has to wait for a limit",
    "Failed": "it cannot begin",
    "Finished": "it is done, and has not left",
}

#: Of a task whose run nothing is known of.
NO_PROGRESS = Progress(coder="", model="", rung="")


class InProgress(Struct, frozen=True, kw_only=True):
    """One task in progress, ready to be shown."""

    id: str
    title: str
    doing: Doing
    #: Why the task does not plainly run, or what is unusual while it runs; empty if all is well.
    reason: str = ""
    #: Tasks that work in the same directory right now.
    shares_with: tuple[str, ...] = ()
    #: Where the agent works.
    cwd: str = ""
    #: The directory that the task is about, if the agent works in a clone of it; otherwise empty.
    project: str = ""
    #: The login or key that the run uses; empty: it has none yet.
    account: str = ""
    #: Which of cwd, coder and model the task itself asked for.
    overrides: tuple[str, ...] = ()
    #: The name of the host that has the task, where hosts share the queue and that is another.
    host: str = ""
    run: int | None = None
    started_at: datetime | None = None
    #: How far the run is, with the coder and model that the task runs with or would run with.
    progress: Progress = NO_PROGRESS
    #: What the agent asks while it runs; None: nothing.
    asked: AskedNow | None = None
    #: How far accepted work is; None: the task is in progress.
    landing: OnTheWay | None = None

    @property
    def work(self) -> AtWork:
        """What goes on with the task: the state follows from this."""
        return AtWork(doing=self.doing, reason=self.reason, way_on=_way_on(self))

    @property
    def standing(self) -> Standing:
        """How the task stands, as every surface shows it."""
        status = "blocked" if self.landing is not None else "in_progress"
        return state_of(
            TaskFacts(
                id=self.id, status=status, asked=self.asked, work=self.work, landing=self.landing
            )
        )

    @property
    def lives(self) -> bool:
        """An agent of this home works on the task now."""
        return self.doing in ("running", "stopping", "unsupervised")

    @property
    def context_percent(self) -> int | None:
        """How full the context was at the fullest moment; None if that is not known."""
        peak, window = self.progress.context_peak, self.progress.context_window
        return round(100 * peak / window) if peak and window else None


def _way_on(seen: InProgress) -> WayOn | None:
    match seen.doing:
        case "waiting" | "unsupervised":
            return WayOn(verb="", line="fleet run")
        case "held":
            return WayOn(verb="", line=f"fleet bd unclaim {seen.id}")
        case "invalid":
            return WayOn(verb="", line=f"fleet show {seen.id}")
        case _:
            return None


class RunOnDisk(Struct, frozen=True, kw_only=True):
    """A task's run as the files tell it, and whether a supervisor looks after the run."""

    #: The supervisor of this home lives.
    supervised: bool
    #: The name that this home's supervisors claim under; empty if there never was one.
    owner: str
    run: Run | None = None
    state: Running | Ended | None = None
    started: Started | None = None
    #: What the supervisor last wrote of the run.
    progress: Progress | None = None

    @property
    def ending(self) -> str:
        """The outcome that the supervisor ends the run for; empty if the run goes on."""
        return self.progress.doing if self.progress else ""


def in_progress(fleet: Control) -> list[InProgress]:
    """The tasks in progress, in the order in which their runs began."""
    supervised = supervisor_of(fleet.home) is not None
    owner = owner_file.read(fleet.home)
    tasks = fleet.queue.find(Filter(statuses=("in_progress",)))
    away = runs_elsewhere(fleet)
    seen = [look_at(fleet, task, supervised=supervised, owner=owner, away=away) for task in tasks]
    never = datetime.max.replace(tzinfo=UTC)
    return sorted(with_neighbours(seen), key=lambda each: (each.started_at or never, each.id))


def with_neighbours(seen: Sequence[InProgress]) -> list[InProgress]:
    """These tasks; agents that work in one directory are named to each other. Pure."""
    at: dict[str, list[str]] = {}
    for each in seen:
        if each.lives:
            at.setdefault(each.cwd, []).append(each.id)
    return [_beside(each, at.get(each.cwd, [])) if each.lives else each for each in seen]


def _beside(each: InProgress, here: Sequence[str]) -> InProgress:
    others = sorted(task_id for task_id in here if task_id != each.id)
    return structs.replace(each, shares_with=tuple(others)) if others else each


def shared_directories(seen: Sequence[InProgress]) -> dict[str, tuple[str, ...]]:
    """The directories in which several agents work right now, each with the tasks there. Pure."""
    found: dict[str, tuple[str, ...]] = {}
    for each in seen:
        if each.shares_with:
            found[each.cwd] = tuple(sorted((each.id, *each.shares_with)))
    return found


def look_at(
    fleet: Control,
    task: Task,
    *,
    supervised: bool,
    owner: str,
    away: RunsElsewhere | None = None,
) -> InProgress:
    """One task in progress with the task's run. An invalid task is described, not refused.

    `away` is what other hosts tell, if that was read already.
    """
    if task.lease_owner is not None and task.lease_owner != owner and fleet.is_shared:
        return _shown_elsewhere(task, away or runs_elsewhere(fleet, task.id))
    seen = RunOnDisk(supervised=supervised, owner=owner)
    try:
        place = fleet.place(task)
        run = latest_run(fleet.home.task(task.id))
        # The run of an earlier lease says nothing of this one, whose run is still to come.
        if run is not None and is_of_lease(run, task):
            seen = structs.replace(
                seen,
                run=run,
                state=keeper_client.glance(run),
                started=run.started(),
                progress=progress_json.read(run),
            )
    except InvalidTask as error:
        return InProgress(id=task.id, title=task.title, doing="invalid", reason=error.message)
    return _shown(task, place, seen)


def doing_of(task: Task, seen: RunOnDisk) -> tuple[Doing, str]:
    """What goes on with a task in progress, and why if the task does not plainly run. Pure."""
    if task.lease_owner is None:
        return "held", f"taken by {task.assignee}" if task.assignee else "without a run"
    if task.lease_owner != seen.owner:
        return "elsewhere", f"run by {task.lease_owner}"
    match seen.state:
        case Running() if seen.ending:
            return "stopping", _ENDING.get(seen.ending, seen.ending)
        case Running() if not seen.supervised:
            return "unsupervised", "a new supervisor adopts it: fleet run"
        case Running():
            return "running", unusual_words(seen.progress)
        case Ended() if seen.supervised and seen.ending == "Verifying":
            return "verifying", "its claim is checked"
        case Ended() if seen.supervised:
            return "settling", ""
        case Ended():
            return "waiting", "it ended; a supervisor settles it: fleet run"
        case None if seen.supervised:
            return ("settling", "it was lost") if seen.started else ("starting", "")
        case None:
            what = "it was lost" if seen.started else "it never started"
            return "waiting", f"{what}; a supervisor takes it back: fleet run"


def unusual_words(progress: Progress | None) -> str:
    """What is unusual about a run that goes on; empty if nothing is."""
    if progress is None:
        return ""
    parts: list[str] = []
    match progress.rung:
        case "waiting_limit" if progress.until is not None:
            parts.append(f"waits for a limit until {progress.until.astimezone():%H:%M}")
        case "suspect":
            parts.append(f"suspect: {progress.why}")
        case "fine":
            pass
        case _:
            parts.append(progress.why)
    near = [mark for mark in progress.near if not mark.endswith(OVER)]
    if near:
        parts.append(f"near its limit: {', '.join(near)}")
    parts += [mark for mark in progress.near if mark.endswith(OVER)]
    return "; ".join(parts)


def _shown(task: Task, place: Place, seen: RunOnDisk) -> InProgress:
    doing, reason = doing_of(task, seen)
    run, started = seen.run, seen.started
    spec = run.spec() if run else None
    cwd = spec.cwd if spec else place.cwd
    # What the task asked for is shown as asked; what it inherits, as the run has it.
    known = seen.progress or Progress(coder=place.coder, model=place.model)
    asked = asked_json.open_question(run.task_dir) if run is not None else None
    return InProgress(
        id=task.id,
        title=task.title,
        doing=doing,
        reason=reason,
        asked=asked and AskedNow(text=asked.question, way_on=answer_line(task.id)),
        cwd=cwd,
        project=place.cwd if cwd != place.cwd else "",
        account=spec.account if spec else "",
        overrides=place.overrides,
        run=run.number if run else None,
        started_at=started.at if started else None,
        progress=structs.replace(
            known,
            coder=place.coder if "coder" in place.own else known.coder,
            model=place.model if "model" in place.own else known.model,
            rung=known.rung if doing == "running" else "",
            last_event_at=_last_sign(run, known, started) if run else None,
        ),
    )


def _shown_elsewhere(task: Task, away: RunsElsewhere) -> InProgress:
    """A task that another host has, with the run that the host tells of."""
    name, run = away.host_of(task), away.run_of(task)
    known = run.progress if run is not None and run.progress else Progress(coder="", model="")
    unusual = unusual_words(known)
    return InProgress(
        id=task.id,
        title=task.title,
        doing="elsewhere",
        reason=f"on host {name}" + (f"; {unusual}" if unusual else ""),
        account=run.account if run is not None else "",
        host=name,
        run=run.run if run is not None else None,
        started_at=run.started_at if run is not None else None,
        progress=known,
    )


def _last_sign(run: Run, progress: Progress, started: Started | None) -> datetime | None:
    """The last event or output: without a supervisor the time of the output file."""
    signs = [progress.last_event_at, started.at if started else None]
    with suppress(OSError):  # nothing was printed yet
        signs.append(datetime.fromtimestamp(run.stdout.lstat().st_mtime, UTC))
    return max((sign for sign in signs if sign is not None), default=None)


def is_of_lease(run: Run, task: Task) -> bool:
    """The run belongs to the lease that the task is under, not to an earlier one."""
    if task.lease_owner is None or task.lease_until is None:
        return False
    lease = Lease(task=task, owner=task.lease_owner, fence=task.fence, until=task.lease_until)
    return run.spec().id == str(RunId.of(lease))
