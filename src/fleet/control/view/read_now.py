"""Reads *now* from the queue and the files of a home.

`NowReader` keeps what it read, so that a surface which looks again and again reads only what
changed. Nothing is locked, written or signalled.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import get_args

from msgspec import Struct, structs

from fleet.accounts.candidates import Place
from fleet.control import Control
from fleet.control.landing.open_landings import landing_of, landing_why, landing_words, on_the_way
from fleet.control.tasks.in_progress import look_at
from fleet.control.tasks.questions import question_of
from fleet.control.view.now import GroupCounts, Now, TaskRow
from fleet.control.view.past_runs import PastOfTask, PastRunsCache
from fleet.control.view.queue_read import SHOWN, QueueRead, read_queue, with_edges
from fleet.control.view.task_rows import (
    advanced_row,
    entries_over,
    running_row,
    standing_row,
    with_roots,
)
from fleet.control.view.why_not_now import Conditions, GateReader, conditions
from fleet.errors import InvalidTask
from fleet.files.safe_read import stamp_of
from fleet.home import compare_json, owner_file
from fleet.queue.protocol import Filter
from fleet.runs.questions import questions_file
from fleet.runs.run_directory import Run, latest_run
from fleet.schemas import Task
from fleet.schemas.task_state import AskedNow, Group, Standing, TaskFacts, Wait, WayOn, state_of
from fleet.schemas.waits import ToLand, ToMend

#: How far back tasks are shown as done, if nothing else is asked for.
DONE_WITHIN = timedelta(hours=24)
#: How many tasks that wait for each other are followed, to say for what the first one waits.
_CHAIN = 10
#: Conditions are compared but for the time.
_SOME_TIME = datetime.fromtimestamp(0, UTC)
_ORDER: Mapping[Group, int] = {group: place for place, group in enumerate(get_args(Group))}


class KeptRow(Struct, kw_only=True):
    """A row that was read, and what the row depended on."""

    looks: tuple[object, ...]
    run: Run | None
    #: The run's directory when the row was read.
    stamp: object
    row: TaskRow


class NowReader:
    """Reads rows, and keeps what cannot have changed. For one thread at a time."""

    def __init__(self, fleet: Control) -> None:
        self._fleet = fleet
        self._past = PastRunsCache(fleet)
        self._kept: dict[str, KeptRow] = {}

    def forget(self) -> None:
        """Read every row anew: what is kept may be wrong where no file tells of a change."""
        self._kept.clear()

    def read(self, now: datetime, done_since: datetime | None = None, *, shown: int = SHOWN) -> Now:
        """The whole. A queue that fails is part of the answer, not an error."""
        since = done_since or now - DONE_WITHIN
        queue = read_queue(self._fleet, since, shown)
        at = conditions(self._fleet, now)
        rows = self.rows(queue.tasks, queue, at)
        return self.whole(rows, queue, at, since)

    def whole(
        self, rows: Iterable[TaskRow], queue: QueueRead, at: Conditions, since: datetime
    ) -> Now:
        """Rows that were read, with what holds for all of them."""
        ordered = tuple(sorted(with_roots(list(rows), queue.blockers), key=_place_in_list))
        return Now(
            as_of=at.at.now,
            home=str(self._fleet.home.path),
            queue=self._fleet.config.queue.partition(":")[0],
            supervisor=structs.replace(
                at.supervisor,
                queue_problem=queue.problem or at.supervisor.queue_problem,
                queue_hint=queue.hint,
            ),
            counts=_counts(ordered, queue),
            done_since=since,
            rows=ordered,
        )

    def rows(self, tasks: Iterable[Task], queue: QueueRead, at: Conditions) -> list[TaskRow]:
        """One row for each task."""
        owner = owner_file.read(self._fleet.home)
        alive, all_same = (at.supervisor.alive, owner), at.as_of(_SOME_TIME)
        gates = GateReader(self._fleet, at)
        rows: list[TaskRow] = []
        for task in tasks:
            shared = alive if task.status == "in_progress" else all_same
            rows.append(self._kept_row(task, queue, gates, (owner, shared)))
        if len(self._kept) > 4 * len(rows) + SHOWN:
            self._kept = {row.id: self._kept[row.id] for row in rows}
        return rows

    def _kept_row(
        self, task: Task, queue: QueueRead, gates: GateReader, shared: tuple[str, object]
    ) -> TaskRow:
        """The row as read before, if nothing that the row depends on has changed; with the run's
        progress if only that was written.
        """
        kept = self._kept.get(task.id)
        folder = f"{self._fleet.home.tasks}/{task.id}"
        looks = (
            *_looks(task, queue, gates.at.at.now),
            *_times(folder, task.status in ("blocked", "in_progress")),
            shared,
        )
        if kept is not None and kept.looks == looks:
            stamp = stamp_of(kept.run.path) if kept.run is not None else None
            if stamp == kept.stamp:
                return kept.row
            row = advanced_row(kept.row, kept.run) if kept.run is not None else None
            if row is not None:
                kept.row, kept.stamp = row, stamp
                return row
        # Looked at first: what is written meanwhile is read with the next look.
        run = latest_run(self._fleet.home.task(task.id))
        stamp = stamp_of(run.path) if run is not None else None
        row = self._row(task, queue, gates, shared[0])
        self._kept[task.id] = KeptRow(looks=looks, run=run, stamp=stamp, row=row)
        return row

    def _row(self, task: Task, queue: QueueRead, gates: GateReader, owner: str) -> TaskRow:
        past, place = self._past.of(task), _place(task, gates)
        row = self._plain(task, past, queue, place)
        facts = TaskFacts(
            id=task.id, status=task.status, waits=task.waits, close_reason=task.close_reason
        )
        landing = landing_of(self._fleet, task)
        if landing is not None:
            words = landing_words(self._fleet, task.id, landing)
            row = structs.replace(row, landing=landing.state, landing_words=words)
            why = landing_why(self._fleet, task.id, landing)
            facts = structs.replace(facts, landing=on_the_way(landing, words, why))
        match task.status:
            case "closed":
                row = structs.replace(row, since=task.closed_at)
            case "in_progress":
                seen = look_at(self._fleet, task, supervised=gates.at.supervisor.alive, owner=owner)
                facts = structs.replace(facts, work=seen.work)
                row, facts = self._asking(running_row(row, seen, past.over), facts, task)
            case "blocked" | "pinned" | "hooked":
                row = row if landing is None else structs.replace(row, since=landing.at)
                row, facts = self._blocked(row, facts, task, queue)
            case _:
                held = self._held(task, place, queue, gates)
                facts = structs.replace(facts, hindrance=held)
        return standing_row(row, state_of(facts))

    def _plain(
        self, task: Task, past: PastOfTask, queue: QueueRead, place: Place | InvalidTask
    ) -> TaskRow:
        """What is told of a task in any state."""
        row = TaskRow(
            id=task.id,
            title=task.title,
            group="waiting",
            status=task.status,
            account=past.account,
            priority=task.priority,
            issue_type=task.issue_type,
            labels=task.labels,
            parent=queue.parents.get(task.id, ""),
            created_at=task.created_at,
            since=task.updated_at,
            attempt=past.attempts + (task.status != "closed"),
            attempts=self._fleet.config.retry_limit,
            verdict=past.verdict,
            spent=past.spent,
        )
        if isinstance(place, InvalidTask):
            return structs.replace(row, group="needs_you", reason=place.message, way_on=_show(task))
        coder, model = place.coder, place.model
        if task.status == "closed" and past.model:  # those that did it, together
            coder, model = past.coder, past.model
        return structs.replace(
            row, project=place.cwd, directory=place.cwd, coder=coder, model=model
        )

    def _held(
        self, task: Task, place: Place | InvalidTask, queue: QueueRead, gates: GateReader
    ) -> Wait | None:
        """What keeps an open task from running."""
        if isinstance(place, InvalidTask):  # a person has to mend it
            return Wait(gate="invalid", reason=place.message, way_on=_show(task), person=True)
        return gates.why_not(task, place, queue.blockers.get(task.id, ()))

    def _blocked(
        self, row: TaskRow, facts: TaskFacts, task: Task, queue: QueueRead
    ) -> tuple[TaskRow, TaskFacts]:
        """The facts of a task that waits for a person, the lander, or a comparison."""
        compared = compare_json.shown(self._fleet.home, task.id)
        if compared is not None and compared.is_open:
            return row, structs.replace(facts, entries=entries_over(compared, queue))
        if task.id in queue.left:
            left = ToMend(what=queue.left[task.id])
            return row, structs.replace(facts, waits=left, landing=None)
        if facts.landing is not None and isinstance(task.waits, ToLand):
            return row, facts
        return self._asking(row, facts, task)

    def _asking(self, row: TaskRow, facts: TaskFacts, task: Task) -> tuple[TaskRow, TaskFacts]:
        """Row and facts with the question of a task, whether or not its agent runs."""
        asked = question_of(self._fleet, task)
        if asked is None:
            return row, facts
        line = f"fleet plan approve {task.id}" if asked.plan else f'fleet answer {task.id} "…"'
        way = WayOn(verb="" if asked.plan else "answer", line=line)
        text = asked.question or asked.note
        row = structs.replace(row, question=text, options=asked.options)
        return row, structs.replace(facts, asked=AskedNow(text=text, way_on=way, plan=asked.plan))


def rows_of(
    fleet: Control, tasks: Sequence[Task], now: datetime
) -> tuple[dict[str, TaskRow], QueueRead]:
    """Rows of some tasks, and of those that they wait for to the end of each chain, as *now* shows
    them.
    """
    known = {task.id: task for task in tasks}
    queue = with_edges(fleet, tuple(known.values()), {})
    for _ in range(_CHAIN):
        fresh = {each for waits in queue.blockers.values() for each in waits} - known.keys()
        if not fresh:
            break
        found = fleet.queue.find(Filter(ids=tuple(sorted(fresh)), include_closed=True))
        known |= {task.id: task for task in found}
        queue = with_edges(fleet, tuple(known.values()), {})
    rows = NowReader(fleet).rows(known.values(), queue, conditions(fleet, now))
    return {row.id: row for row in with_roots(rows, queue.blockers)}, queue


def standings_of(fleet: Control, tasks: Sequence[Task], now: datetime) -> dict[str, Standing]:
    """How some tasks stand."""
    rows = rows_of(fleet, tasks, now)[0]
    return {task.id: rows[task.id].standing for task in tasks}


def _place(task: Task, gates: GateReader) -> Place | InvalidTask:
    try:
        return gates.place(task)
    except InvalidTask as error:
        return error


def _looks(task: Task, queue: QueueRead, now: datetime) -> tuple[object, ...]:
    """What a row depends on in the queue. The lease is left out: renewing it changes nothing."""
    waits = queue.blockers.get(task.id, ())
    return (
        task.updated_at,
        task.status,
        task.fence,
        task.lease_owner,
        task.not_before is None or task.not_before <= now,
        waits,
        tuple(queue.statuses.get(each) for each in waits),
        queue.parents.get(task.id),
        queue.unclosed_parts(task.id) if task.status == "blocked" else (),
        queue.left.get(task.id),
    )


def _times(place: str, asks: bool) -> tuple[object, ...]:
    """When the task's directory and runs were last changed. Records are replaced whole, so a
    directory's own time tells of a change inside.
    """
    questions = stamp_of(f"{place}/{questions_file.FILE}") if asks else None
    return stamp_of(place), stamp_of(f"{place}/runs"), questions


def _place_in_list(row: TaskRow) -> tuple[object, ...]:
    """By group; questions and priority first, then oldest; what is done latest first."""
    at = row.since.timestamp() if row.since is not None else 0.0
    if row.group == "done":
        return _ORDER[row.group], False, 0, -at, row.id
    return _ORDER[row.group], not row.question, row.priority, at, row.id


def _counts(rows: Sequence[TaskRow], queue: QueueRead) -> GroupCounts:
    """How many tasks each group has: the shown rows, and tasks that are not shown."""
    found = dict.fromkeys(_ORDER, 0)
    for row in rows:
        found[row.group] += 1
    by_status: dict[str, int] = {}
    for row in rows:
        by_status[row.status] = by_status.get(row.status, 0) + 1
    hidden = {name: queue.counts.get(name, 0) - by_status.get(name, 0) for name in queue.counts}
    return GroupCounts(
        needs_you=found["needs_you"] + max(0, hidden.get("blocked", 0)),
        running=found["running"] + max(0, hidden.get("in_progress", 0)),
        waiting=found["waiting"] + max(0, hidden.get("open", 0) + hidden.get("deferred", 0)),
        done=found["done"] + max(0, hidden.get("closed", 0)),
    )


def _show(task: Task) -> WayOn:
    return WayOn(verb="", line=f"fleet show {task.id}")
