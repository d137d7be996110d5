"""Clears away what tasks leave: clones whose work is in the project, and old snapshots.

After each run the work of its clone is brought to the task's branch in the project. The clone of a
closed task goes, unless it holds work that is nowhere else. Worker threads do it when a task is
settled, and once an hour for all that are closed.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from fleet.errors import FleetError
from fleet.evidence.verify_place import remove_left
from fleet.extend import Duty
from fleet.files.file_lock import run_locked
from fleet.git import snapshot_index, tree_snapshot
from fleet.git.clone import clone_place
from fleet.git.clone.collect_work import Collected, cloned_work
from fleet.git.clone.task_refs import TaskRefs, task_refs
from fleet.git.clone.task_work import KEPT_FOR, remove_clone, why_kept
from fleet.git.commit_words import message_of
from fleet.git.refs import tree_of
from fleet.home import Home, clone_record, landing_json
from fleet.landing.fold.verify_fold import drop_spares
from fleet.landing.tidy_landed import tidy_landed
from fleet.landing.train_store import FOLDER as TRAINS
from fleet.runs import receipt_json
from fleet.runs.cli_state.state_directory import state_directory
from fleet.runs.run_directory import latest_run
from fleet.schemas import Blocked, Closed, Task
from fleet.settlement.session_files import keep_sessions, left_states
from fleet.supervisor.state import Happening, LandingEnded, SupervisorState, TaskSettled

#: Seconds between two rounds over all closed tasks, and how many tasks are looked at in one.
_ROUND = 3600.0
_MOST = 500
#: No run of a task that was closed this long ago, or is gone, is verified any more.
_OVER = timedelta(days=1)


class Cleanup(Duty):
    """Brings work home and clears away what closed tasks left, one by one and once an hour all."""

    begins_work = True

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        self._next_round = 0.0
        #: How many answers are still to come.
        self._pending = 0
        #: Tasks whose work is just brought home; True: their clone is to be looked at once more.
        self._collecting: dict[str, bool] = {}

    @property
    def next_moment(self) -> float:
        return self._next_round

    @property
    def busy(self) -> bool:
        return self._pending > 0

    def on_event(self, event: Happening) -> None:
        if self._state.shutdown.stops:
            return
        match event:
            case TaskSettled(settlement=Blocked(to_land=True)):
                pass  # its work is on the way to its branch
            case TaskSettled(task_id, settlement):
                self.after_run(task_id, closed=isinstance(settlement, Closed))
            case LandingEnded(task_id, closed=True):
                self.after_run(task_id, closed=True)
            case _:
                pass

    def after_run(self, task_id: str, *, closed: bool) -> None:
        """Bring home what a run left in the clone; remove the clone if the task was closed. Take
        over the session of a run in a box.
        """
        run = latest_run(self._state.home.task(task_id))
        if run is not None and state_directory(run).is_dir():
            self._pending += 1
            self._state.pool.submit(partial(keep, self._state.home, [task_id]), self._done)
        if not self._state.home.clone(task_id).exists():
            return
        if closed:
            self._clean([task_id])
        elif task_id in self._collecting:  # two at once would each find the other's refs moved
            self._collecting[task_id] = True
        else:
            self._collect(task_id)

    def _collect(self, task_id: str) -> None:
        self._pending += 1
        self._collecting[task_id] = False
        done = partial(self._collected, task_id)
        self._state.pool.submit(partial(collect, self._state.home, task_id), done)

    def _collected(self, task_id: str, reports: list[str]) -> None:
        self._done(reports)
        if self._collecting.pop(task_id):
            self._collect(task_id)

    def when_due(self) -> None:
        """Look through all closed tasks, once an hour."""
        if time.monotonic() >= self._next_round:
            self._next_round = time.monotonic() + _ROUND
            clone_place.empty_trash(self._state.home)
            tree_snapshot.drop_left_copies(time.time() - _OVER.total_seconds())
            with suppress(OSError):  # a disk that takes nothing: the next round may
                drop_spares(self._state.home.path / TRAINS, time.time() - KEPT_FOR.total_seconds())
            self._pending += 1
            self._state.pool.submit(partial(keep_left, self._state.home), self._done)
            ids = _candidates(self._state.home)
            if ids:
                self._clean(ids[:_MOST])

    def _clean(self, ids: list[str]) -> None:
        self._pending += 1
        self._state.queue.named(tuple(ids), partial(self._look_at, ids))

    def _look_at(self, ids: Sequence[str], tasks: list[Task]) -> None:
        state = self._state
        state.pool.submit(partial(tidy, state.home, ids, tasks, state.now()), self._done)

    def _done(self, reports: list[str]) -> None:
        self._pending -= 1
        for text in reports:
            task_dir = self._state.home.task(text.partition(": ")[0])
            kept = task_dir if task_dir.is_dir() else None
            self._state.log.say_once("tidied", text, task_dir=kept)


def keep(home: Home, ids: Iterable[str]) -> list[str]:
    """Take over the sessions of runs in a box that have ended, and delete their state."""
    reports: list[str] = []
    for task_id in ids:
        try:
            reports += keep_sessions(home, task_id)
        except (FleetError, OSError) as error:  # the next run of the task tries again
            reports.append(f"{task_id}: what its CLI kept stays in the run's directory: {error}")
    return reports


def keep_left(home: Home) -> list[str]:
    """The same, for what a supervisor left that was killed."""
    return keep(home, left_states(home))


def _candidates(home: Home) -> list[str]:
    found = {each.task_id for each in snapshot_index.all_entries(home)}
    return sorted(found | set(clone_place.clones_in(home)))


def tidy(home: Home, ids: Sequence[str], tasks: Sequence[Task], now: datetime) -> list[str]:
    """Clear away what closed tasks left; `tasks` are the tasks that still exist.

    Returns a sentence for each thing that was done.
    """
    known = {task.id: task for task in tasks}
    reports: list[str] = []
    for task_id in ids:
        task = known.get(task_id)
        reports += _tidy_checkouts(home, task_id, task, now)
        if task is not None and task.status == "closed":
            try:
                landing = landing_json.believed(home, task.id)
                if landing is not None and landing.state == "landed":
                    closed = task.closed_at or task.updated_at
                    reports += tidy_landed(home, task.id, landing, now - closed)
                else:
                    reports += tidy_clone(home, task, now)
            except (FleetError, OSError) as error:
                reports.append(f"{task_id}: its clone stays at {home.clone(task_id)}: {error}")
    wanted = set(ids)
    for each in snapshot_index.all_entries(home):
        task = known.get(each.task_id)
        # A clone reads the commits that these refs hold.
        has_clone = home.clone(each.task_id).exists()
        if each.task_id in wanted and not has_clone and (task is None or task.status == "closed"):
            closed_at = (task.closed_at or task.updated_at) if task is not None else None
            if snapshot_index.may_go(each, closed_at, now):
                snapshot_index.prune(home, each)
    return reports


def _tidy_checkouts(home: Home, task_id: str, task: Task | None, now: datetime) -> list[str]:
    """Remove checkouts that a killed supervisor left while verifying there."""
    is_over = task is None or (task.closed_at is not None and now - task.closed_at > _OVER)
    try:
        removed = remove_left(home.task(task_id), is_over=is_over)
    except (FleetError, OSError) as error:
        return [f"{task_id}: a checkout to verify in stays: {error}"]
    return [f"{task_id}: the checkout of run {each} removed, which was left" for each in removed]


def collect(home: Home, task_id: str) -> list[str]:
    """Bring the commits of a task that is not closed to the task's branch in the project.

    What is not committed stays in the clone, for the next run.
    """
    try:
        refs = _refs(home, task_id)
        if refs is None:
            return []
        work = cloned_work(home, refs)
        brought = work.bring(work.head)
        clone_place.note_size(home, task_id)
    except (FleetError, OSError) as error:
        return [f"{task_id}: its work is in {home.clone(task_id)} only: {error}"]
    return _brought_words(task_id, brought)


def tidy_clone(home: Home, task: Task, now: datetime) -> list[str]:
    """Bring all that a closed task left to the task's branch in the project, and
    remove the clone.
    """
    if not clone_place.is_there(home, task.id):
        return []
    # The lock of the task's runs: a run that begins meanwhile waits.
    with run_locked(home.task(task.id)) as lock:
        refs = _refs(home, task.id) if lock is not None else None
        if refs is None:
            return []
        work = cloned_work(home, refs)
        work.take_snapshot()
        accepted = _accepted(home, task.id, work.tree)
        if accepted:  # with pinned files as they were
            commit = work.candidate(accepted, task.title)
        else:
            commit = work.committed(message_of(task.title, task.id))
        added = work.tree != tree_of(work.git, work.head)
        brought = work.bring(commit)
        stays = why_kept(work, now - (task.closed_at or task.updated_at))
        reports = _brought_words(task.id, brought)
        if added:
            text = f"committed to {brought.ref} what was left uncommitted: {commit[:12]}"
            reports.append(f"{task.id}: {text}")
        work_is = f"its work is on {brought.ref}" if brought.ref else "it changed nothing"
        if stays:
            clone_place.note_size(home, task.id)
            if brought.is_new:  # said once: the next round and the next supervisor find the same
                text = f"{work_is}; its clone stays at {home.clone(task.id)}: it holds {stays}"
                reports.append(f"{task.id}: {text}")
            return reports
        remove_clone(home, refs)
        return [*reports, f"{task.id}: clone removed, {work_is}"]


def _accepted(home: Home, task_id: str, left: str) -> str:
    """The accepted tree of the latest run, if it left the tree `left`; else empty."""
    run = latest_run(home.task(task_id))
    receipt = receipt_json.read(run) if run is not None else None
    if receipt is None or receipt.changes is None or receipt.changes.tree != left:
        return ""
    return receipt.accepted_tree


def _refs(home: Home, task_id: str) -> TaskRefs | None:
    """The refs of a task with a clone; None: the task has no record. Raises FleetError."""
    record, refs = clone_record.read(home, task_id), task_refs(home, task_id)
    if record is not None and refs is None:
        raise FleetError(f"{record.repository} is no repository any more")
    return refs


def _brought_words(task_id: str, brought: Collected) -> list[str]:
    return [f"{task_id}: {note}" for note in brought.notes]
