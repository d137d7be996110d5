"""A night at a glance: what ran in which slot, what waited, and what kept fleet from working; read
from the records of runs and from the supervisor's log.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.pause import paused_since
from fleet.control.tasks.task_files import LogLine, log_line, read_whole
from fleet.control.view.task.whole_task import run_summary
from fleet.errors import BadInput, FleetError
from fleet.files.safe_read import stamp_of
from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import Run, newest_first
from fleet.schemas import RateLimited, Task

SegmentKind = Literal["run", "wait"]
BandKind = Literal["account", "vendor", "budget", "supervisor", "paused"]


class Segment(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stretch of one task's time: a run, or the wait for one."""

    task_id: str
    title: str = ""
    kind: SegmentKind
    start: datetime
    #: None: the stretch goes on.
    end: datetime | None = None
    run: int | None = None
    coder: str = ""
    model: str = ""
    account: str = ""
    #: The outcome by name, like `Finished` or `Failed (auth)`; empty: the run goes on, or this is a
    #: wait.
    outcome: str = ""
    why: str = ""
    verdict: str = ""


class Lane(Struct, frozen=True, kw_only=True):
    """One slot: segments that do not overlap."""

    number: int
    segments: tuple[Segment, ...] = ()


class Band(Struct, frozen=True, kw_only=True):
    """A stretch in which something kept tasks from running."""

    kind: BandKind
    name: str
    start: datetime
    end: datetime | None = None
    why: str = ""


class Timeline(Struct, frozen=True, kw_only=True):
    """Runs and waits between two moments."""

    as_of: datetime
    start: datetime
    end: datetime
    lanes: tuple[Lane, ...] = ()
    #: Tasks that could have run and waited: apart from the lanes.
    waits: tuple[Segment, ...] = ()
    bands: tuple[Band, ...] = ()
    #: Runs that are not shown, since there are too many.
    more: int = 0


#: The longest stretch that is shown, and how many runs.
LONGEST, _MOST_RUNS = timedelta(days=14), 2000


def read_timeline(fleet: Control, start: datetime, end: datetime, now: datetime) -> Timeline:
    """Runs and waits between two moments. Raises BadInput."""
    if not start < end or end - start > LONGEST:
        raise BadInput(
            "a timeline goes from a moment to a later one", hint=f"At most {LONGEST.days} days."
        )
    runs = list(_runs(fleet, start, end))
    tasks = _tasks(fleet, {segment.task_id for segment, _ in runs})
    titled = [
        structs.replace(segment, title=tasks[segment.task_id].title)
        if segment.task_id in tasks
        else segment
        for segment, _ in runs
    ]
    titled.sort(key=lambda each: (each.start, each.task_id))
    shown = titled[-_MOST_RUNS:]
    return Timeline(
        as_of=now,
        start=start,
        end=end,
        lanes=lanes_of(shown),
        waits=tuple(waits_of(shown, tasks, start)),
        bands=(
            *limits(runs, start, end),
            *_from_log(fleet, start, end, now, [each.created_at for each in tasks.values()]),
        ),
        more=len(titled) - len(shown),
    )


def _runs(fleet: Control, start: datetime, end: datetime) -> Iterator[tuple[Segment, Run]]:
    """The runs that were at work at some moment between the two."""
    try:
        folders = [path for path in fleet.home.tasks.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return
    since = int(start.timestamp() * 1e9)
    for folder in folders:
        for run in newest_first(folder):
            if stamp_of(run.path)[0] < since:
                break  # nothing was written there since: this one and those before it are older
            segment = _segment(folder, run)
            if segment is not None and segment.start < end and (segment.end or end) > start:
                yield segment, run


def _segment(folder: Path, run: Run) -> Segment | None:
    summary = run_summary(run)
    if summary.begun is None:
        return None
    return Segment(
        task_id=folder.name,
        kind="run",
        start=summary.begun,
        end=summary.ended,
        run=summary.number,
        coder=summary.coder,
        model=summary.model,
        account=summary.account,
        outcome=summary.outcome,
        why=summary.why,
        verdict=summary.verdict or "",
    )


def _tasks(fleet: Control, ids: set[str]) -> Mapping[str, Task]:
    """The tasks as far as the queue knows them and answers."""
    if not ids:
        return {}
    try:
        found = fleet.queue.find(Filter(ids=tuple(sorted(ids)), include_closed=True))
    except FleetError:
        return {}
    return {task.id: task for task in found}


def lanes_of(segments: Sequence[Segment]) -> tuple[Lane, ...]:
    """Segments put into as few lanes as there were slots at work. Pure."""
    lanes: list[list[Segment]] = []
    free: list[tuple[float, int]] = []
    for segment in segments:
        at = segment.start.timestamp()
        if free and free[0][0] <= at:
            _, lane = heapq.heappop(free)
        else:
            lane = len(lanes)
            lanes.append([])
        lanes[lane].append(segment)
        ends = segment.end.timestamp() if segment.end else float("inf")
        heapq.heappush(free, (ends, lane))
    return tuple(
        Lane(number=number, segments=tuple(each)) for number, each in enumerate(lanes, start=1)
    )


def waits_of(
    segments: Sequence[Segment], tasks: Mapping[str, Task], start: datetime
) -> Iterator[Segment]:
    """The times in which a task waited for the next run. Pure."""
    before: dict[str, Segment] = {}
    for segment in segments:
        last = before.get(segment.task_id)
        task = tasks.get(segment.task_id)
        since = last.end if last is not None else task.created_at if task else None
        if since is not None and since < segment.start:
            yield Segment(
                task_id=segment.task_id,
                title=segment.title,
                kind="wait",
                start=max(since, start),
                end=segment.start,
                why=last.why if last is not None else "",
            )
        before[segment.task_id] = segment


def limits(runs: Iterable[tuple[Segment, Run]], start: datetime, end: datetime) -> Iterator[Band]:
    """Windows of accounts that runs met, from the refusal until the window resets, and outages of
    vendors.
    """
    met: dict[tuple[str, str], Band] = {}
    for segment, run in runs:
        if not segment.outcome.startswith("RateLimited"):
            continue
        ending = read_ending(run)
        if ending is None or not isinstance(ending.outcome, RateLimited):
            continue
        limit = ending.outcome.limit
        wait = timedelta(seconds=limit.retry_after) if limit.retry_after else None
        until = limit.resets_at or (ending.at + wait if wait else None)
        if ending.at < end and (until or end) > start:
            name = ending.account or ending.coder
            key = name, str(until)
            known = met.get(key)
            first = min(ending.at, known.start) if known else ending.at
            fails = limit.kind in ("outage", "overload")
            kind: BandKind = "vendor" if fails else "account"
            met[key] = Band(kind=kind, name=name, start=first, end=until, why=limit.kind)
    yield from met.values()


def _from_log(
    fleet: Control, start: datetime, end: datetime, now: datetime, made: Iterable[datetime]
) -> Iterator[Band]:
    """Supervisor gaps, pauses and spent budgets, as the supervisor's log tells them. `made`: when
    tasks were made; a time before all that is known of a home lacked no supervisor.
    """
    lines = [line for line in _log(fleet, start, end) if line.ts < end]
    first = min((*_first_log_line(fleet), *made), default=end)
    alive = supervisor_of(fleet.home) is not None and end >= now
    yield from _gaps(lines, max(start, first), end, alive=alive)
    for at, line in enumerate(lines):
        if line.action == "paused":
            again = (later.ts for later in lines[at:] if later.action == "run_started")
            yield _band("paused", "fleet", line.ts, next(again, None), line.text)
        elif line.action == "budget_spent":
            day = line.ts.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
            yield _band("budget", "budget", line.ts, day + timedelta(days=1), line.text)
    since = paused_since(fleet.home)
    if since is not None and since < end and not any(line.action == "paused" for line in lines):
        yield _band("paused", "fleet", max(since, start), None, "no new runs")


def _gaps(
    lines: Sequence[LogLine], start: datetime, end: datetime, *, alive: bool
) -> Iterator[Band]:
    """The stretches without a supervisor: from an end, or from the last line of a killed one."""
    gone = start
    running = bool(lines) and lines[0].action != "started"
    last = start
    for line in lines:
        if line.action == "started":
            gone = last if running else gone
            if gone < line.ts:
                why = "it was killed" if running else ""
                yield _band("supervisor", "no supervisor", gone, line.ts, why)
            running = True
        elif line.action == "ended":
            running, gone = False, line.ts
        last = line.ts
    if not alive and (last if running else gone) < end:
        yield _band("supervisor", "no supervisor", last if running else gone, end, "")


def _first_log_line(fleet: Control) -> Iterator[datetime]:
    """When the oldest log begins, if there is one."""
    oldest = min(fleet.home.logging.glob("fleet-*.jsonl"), default=None)
    if oldest is None:
        return
    line = log_line(next(read_whole(oldest), b"").partition(b"\n")[0])
    if line is not None:
        yield line.ts


def _log(fleet: Control, start: datetime, end: datetime) -> Iterator[LogLine]:
    """The lines of the log between two moments; from a day before on, since files are days."""
    wanted = (b'"started"', b'"ended"', b'"paused"', b'"budget_spent"', b'"run_started"')
    for path in sorted(fleet.home.logging.glob("fleet-*.jsonl")):
        day = path.stem.removeprefix("fleet-")
        if not f"{start - timedelta(days=1):%F}" <= day <= f"{end + timedelta(days=1):%F}":
            continue
        for raw in b"".join(read_whole(path)).split(b"\n"):
            if not any(word in raw for word in wanted):
                continue
            line = log_line(raw)
            if line is not None and line.ts >= start:
                yield line


def _band(kind: BandKind, name: str, start: datetime, end: datetime | None, why: str) -> Band:
    return Band(kind=kind, name=name, start=start, end=end, why=why)
