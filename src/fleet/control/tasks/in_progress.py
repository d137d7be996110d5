"""What is being worked on: the tasks in progress, each with its run as the files tell it.

Looking leaves no trace: no lock is taken, nothing is written, no process is touched.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct, structs

from fleet.accounts.candidates import Place
from fleet.control import Control
from fleet.errors import InvalidTask
from fleet.home import owner_file
from fleet.processes import keeper_client
from fleet.processes.keeper_client import Ended, Running
from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue.protocol import Filter
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run, Started, latest_run
from fleet.runs.run_id import RunId
from fleet.schemas import Lease, Task
from fleet.watchdog.run_limits import OVER

Doing = Literal[
    "running",
    #: Its agent was told to end, and has not yet.
    "stopping",
    #: The run is over, or not begun, and the supervisor is about to act on it.
    "starting",
    "settling",
    #: The run is over, and what it left is looked at: the repository, the verify commands.
    "verifying",
    #: The agent works and nobody looks after it; a new supervisor adopts it.
    "unsupervised",
    #: Nothing lives, and nothing happens before a supervisor starts.
    "waiting",
    #: Another home's supervisor holds it.
    "elsewhere",
    #: A person took it.
    "held",
    "invalid",
]

#: Why fleet ends a run, by the name of the outcome it has in mind.
_ENDING = {
    "Stopped": "as asked",
    "ContextFull": "its context is full, it goes on in a fresh session",
    "Stalled": "it gets nowhere",
    "LimitExceeded": "it used up what it was given",
    "RateLimited": "its account has to wait for a limit",
    "Failed": "it cannot begin",
    "Finished": "it is done, and has not left",
}


class InProgress(Struct, frozen=True, kw_only=True):
    """One task in progress, ready to be shown."""

    id: str
    title: str
    doing: Doing
    #: Why it does not plainly run, or what is not as usual while it does; empty if all is well.
    reason: str = ""
    #: Its place on the supervisor's ladder, while it runs.
    rung: str = ""
    #: Limits that are nearly used up, like `cost 82 %`.
    near: tuple[str, ...] = ()
    #: Tasks that work in the same directory right now.
    shares_with: tuple[str, ...] = ()
    cwd: str = ""
    coder: str = ""
    model: str = ""
    #: Which of cwd, coder and model the task itself asked for.
    overrides: tuple[str, ...] = ()
    run: int | None = None
    started_at: datetime | None = None
    last_event_at: datetime | None = None
    events: int = 0
    tool_calls: int = 0
    context_peak: int = 0
    context_window: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    #: What it cost so far by its tokens, while its CLI does not tell.
    estimated_usd: float | None = None

    @property
    def lives(self) -> bool:
        """Its agent is at work here and now."""
        return self.doing in ("running", "stopping", "unsupervised")

    @property
    def context_percent(self) -> int | None:
        """How full the context was at its fullest; None if nothing is known of it."""
        if not self.context_peak or not self.context_window:
            return None
        return round(100 * self.context_peak / self.context_window)


class Sight(Struct, frozen=True, kw_only=True):
    """What can be seen of a task's run, and of whoever should look after it."""

    #: The supervisor of this home lives.
    supervised: bool
    #: The name that this home's supervisors claim under; empty if there never was one.
    owner: str
    state: Running | Ended | None = None
    started: Started | None = None
    #: What the supervisor last said of the run.
    progress: Progress | None = None

    @property
    def ending(self) -> str:
        """What it is doing about it; empty if it lets it run."""
        return self.progress.doing if self.progress else ""


def in_progress(fleet: Control) -> list[InProgress]:
    """The tasks in progress, those that began first first."""
    supervised = supervisor_of(fleet.home) is not None
    owner = owner_file.read(fleet.home)
    tasks = fleet.queue.find(Filter(statuses=("in_progress",)))
    seen = [_look(fleet, task, supervised=supervised, owner=owner) for task in tasks]
    never = datetime.max.replace(tzinfo=UTC)
    return sorted(with_neighbours(seen), key=lambda each: (each.started_at or never, each.id))


def with_neighbours(seen: Sequence[InProgress]) -> list[InProgress]:
    """Those that are at work in one directory are told of each other. Pure."""
    at: dict[str, list[str]] = {}
    for each in seen:
        if each.lives:
            at.setdefault(each.cwd, []).append(each.id)
    return [_beside(each, at.get(each.cwd, [])) if each.lives else each for each in seen]


def _beside(each: InProgress, here: Sequence[str]) -> InProgress:
    others = sorted(task_id for task_id in here if task_id != each.id)
    if not others:
        return each
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    told = f"shares its directory with {others[0]}{more}"
    reason = "; ".join(part for part in (each.reason, told) if part)
    return structs.replace(each, reason=reason, shares_with=tuple(others))


def _look(fleet: Control, task: Task, *, supervised: bool, owner: str) -> InProgress:
    try:
        place = fleet.place(task)
        run = latest_run(fleet.home.task(task.id))
        if run is not None and not is_of_lease(run, task):
            run = None  # an earlier attempt; this lease's run is still to come
        sight = Sight(supervised=supervised, owner=owner)
        progress = None
        if run is not None:
            progress = progress_json.read(run)
            sight = Sight(
                supervised=supervised,
                owner=owner,
                state=keeper_client.glance(run),
                started=run.started(),
                progress=progress,
            )
    except InvalidTask as error:
        return InProgress(id=task.id, title=task.title, doing="invalid", reason=error.message)
    doing, reason = doing_of(task, sight)
    return _shown(task, place, run, sight.started, progress, doing, reason)


def doing_of(task: Task, sight: Sight) -> tuple[Doing, str]:
    """What goes on with a task in progress, and why if it does not plainly run. Pure."""
    if task.lease_owner is None:
        return "held", f"taken by {task.assignee}" if task.assignee else "nobody is at it"
    if task.lease_owner != sight.owner:
        return "elsewhere", f"run by {task.lease_owner}"
    match sight.state:
        case Running() if sight.ending:
            return "stopping", _ENDING.get(sight.ending, sight.ending)
        case Running() if not sight.supervised:
            return "unsupervised", "a new supervisor adopts it: fleet run"
        case Running():
            return "running", _unusual(sight.progress)
        case Ended() if sight.supervised and sight.ending == "Verifying":
            return "verifying", "its claim is checked"
        case Ended() if sight.supervised:
            return "settling", "it ended"
        case Ended():
            return "waiting", "it ended; a supervisor settles it: fleet run"
        case None if sight.supervised:
            return ("settling", "it was lost") if sight.started else ("starting", "")
        case None:
            what = "it was lost" if sight.started else "it never started"
            return "waiting", f"{what}; a supervisor takes it back: fleet run"


def _unusual(progress: Progress | None) -> str:
    """What is not as it should be with a run that goes on."""
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


def _shown(
    task: Task,
    place: Place,
    run: Run | None,
    started: Started | None,
    progress: Progress | None,
    doing: Doing,
    reason: str,
) -> InProgress:
    own = {"cwd": place.own_cwd, "coder": place.own_coder, "model": place.own_model}
    # What a task insists on is shown as it was asked for; what it inherits, as it turned out.
    known = progress or Progress(coder=place.coder, model=place.model)
    return InProgress(
        id=task.id,
        title=task.title,
        doing=doing,
        reason=reason,
        rung=known.rung if doing == "running" else "",
        near=known.near,
        cwd=run.spec().cwd if run else place.cwd,
        coder=place.coder if place.own_coder else known.coder,
        model=place.model if place.own_model else known.model,
        overrides=tuple(name for name, insists in own.items() if insists),
        run=run.number if run else None,
        started_at=started.at if started else None,
        last_event_at=_last_sign(run, known, started) if run else None,
        events=known.events,
        tool_calls=known.tool_calls,
        context_peak=known.context_peak,
        context_window=known.context_window,
        tokens=known.tokens,
        cost_usd=known.cost_usd,
        estimated_usd=known.estimated_usd,
    )


def _last_sign(run: Run, progress: Progress, started: Started | None) -> datetime | None:
    """The last sign of life: without a supervisor only the stream itself still tells."""
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
