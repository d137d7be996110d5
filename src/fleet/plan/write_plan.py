"""Writes a plan to the queue: on SQL in one transaction, everything or nothing.

bd has no transaction over several commands. There each task is whole when it is there, with its
settings and what it waits for, and the next `fleet plan apply` makes those that are missing.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from msgspec import structs

from fleet.plan.plan_changes import WrittenPlan, changes_of, known_keys, prunable
from fleet.plan.plan_drafts import PlannedDraft, PlanPlace, metadata_of
from fleet.queue.beads.queue import BeadsQueue
from fleet.queue.protocol import Draft, Filter, Queue
from fleet.queue.sql import dependencies
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import edges_from
from fleet.schemas import Dependency, Task


def write_plan(
    queue: Queue,
    drafts: Sequence[PlannedDraft],
    place: PlanPlace,
    *,
    done: frozenset[str],
    actor: str,
    owner: str,
    prune: bool,
) -> WrittenPlan:
    """Make and change what the plan asks for; a second call goes on where a killed one stopped.

    The queue is looked at inside of the transaction: of two processes that apply one plan, the
    second one finds what the first one made.
    """
    writer = _writer(queue, actor)
    with writer.whole():
        known = known_keys(queue.find(Filter(spec=place.spec)), place)
        changes = changes_of(drafts, known, done)
        ids = {key: task.id for key, task in known.items()}
        by_key = {draft.key: draft for draft in drafts}
        for key in changes.new:  # what is waited for comes first
            draft = structs.replace(_filled(by_key[key], ids), created_by=actor, owner=owner)
            ids[key] = writer.add(draft, [ids[each] for each in by_key[key].after])
        ours = set(ids.values())
        for key in (*changes.changed, *changes.reopened):
            task, draft = known[key], _filled(by_key[key], ids)
            if key in changes.reopened:
                draft = _with_own(draft, task)
                task = queue.reopen_task(task, by=actor)
            writer.rewrite(task, draft)
            writer.reconnect(ids[key], {ids[each] for each in by_key[key].after}, ours)
        pruned = prunable(changes, known) if prune else ()
        for key in pruned:
            writer.close(known[key], f"no longer in {place.spec}", ours)
    return WrittenPlan(changes=changes, ids=ids, pruned=pruned)


def _filled(planned: PlannedDraft, ids: Mapping[str, str]) -> Draft:
    """The draft with ids in place of keys."""
    parent = None if planned.parent is None else ids[planned.parent]
    return structs.replace(planned.draft, parent=parent, metadata=metadata_of(planned, ids))


def _with_own(draft: Draft, task: Task) -> Draft:
    """The draft for a task that was closed, with what people may have set on the task since."""
    return structs.replace(
        draft,
        priority=task.priority,
        issue_type=task.issue_type,
        labels=task.labels,
        parent=None,
    )


def _writer(queue: Queue, actor: str) -> "_SqlWriter | _BeadsWriter":
    if isinstance(queue, SqlQueue):
        return _SqlWriter(queue, actor)
    assert isinstance(queue, BeadsQueue)
    return _BeadsWriter(queue, actor)


class _SqlWriter:
    def __init__(self, queue: SqlQueue, actor: str) -> None:
        self._queue, self._actor = queue, actor

    @contextmanager
    def whole(self) -> Generator[None]:
        """One transaction."""
        with self._queue.db.writing():
            self._queue.rows("lock_graph")
            yield

    def add(self, draft: Draft, after: Sequence[str]) -> str:
        """Make a task that waits. No circle can come of it: the plan has none, and nothing outside
        of the plan waits for a task that was not there.
        """
        task = self._queue.add(draft)
        for target in after:
            edge = Dependency(
                task_id=task.id,
                depends_on_id=target,
                created_at=task.created_at,
                created_by=self._actor,
            )
            dependencies.insert(self._queue, edge)
        return task.id

    def rewrite(self, task: Task, draft: Draft) -> None:
        """Give a task that was never begun new words; refused if the task is begun by now."""
        names = ("title", "description", "priority", "issue_type")
        change = Change(
            fields={name: getattr(draft, name) for name in names},
            set_labels=draft.labels,
            merge_metadata=draft.metadata,
            parent=draft.parent,
            if_status=task.status,
            if_fence=task.fence,
        )
        edit(self._queue, task.id, change, actor=self._actor)

    def reconnect(self, task_id: str, wanted: set[str], ours: set[str]) -> None:
        """Have a task wait for these tasks of the plan; edges to tasks outside of the plan stay."""
        edges = edges_from(self._queue, [task_id]).get(task_id, ())
        have = {edge.depends_on_id for edge in edges if edge.type == "blocks"} & ours
        for target in have - wanted:
            dependencies.undepend(self._queue, task_id, target)
        for target in sorted(wanted - have):
            self._queue.depend(task_id, target, by=self._actor)

    def close(self, task: Task, reason: str, ours: set[str]) -> None:
        """Close a task that was never begun, whatever it waits for."""
        del ours
        change = Change(
            status="closed",
            fields={"close_reason": reason},
            if_status=task.status,
            if_fence=task.fence,
            force=True,
        )
        edit(self._queue, task.id, change, actor=self._actor)


class _BeadsWriter:
    def __init__(self, queue: BeadsQueue, actor: str) -> None:
        self._queue, self._actor = queue, actor

    def whole(self) -> nullcontext[None]:
        return nullcontext()

    def add(self, draft: Draft, after: Sequence[str]) -> str:
        blockers = tuple(("blocks", each) for each in after)
        return self._queue.add(structs.replace(draft, depends_on=blockers)).id

    def rewrite(self, task: Task, draft: Draft) -> None:
        with self._queue.locked():
            self._queue.tracker.rewrite(task.id, draft, self._actor)

    def reconnect(self, task_id: str, wanted: set[str], ours: set[str]) -> None:
        queue = self._queue
        with queue.locked():
            _, edges = queue.tracker.show_with_edges([task_id])
            have = {edge.depends_on_id for edge in edges if edge.type == "blocks"} & ours
            for target in sorted(have - wanted):
                queue.tracker.undepend(task_id, target, self._actor)
            for target in sorted(wanted - have):
                queue.tracker.depend(task_id, target, self._actor)
        queue.bell.ring()

    def close(self, task: Task, reason: str, ours: set[str]) -> None:
        self.reconnect(task.id, set(), ours)  # bd closes nothing that waits
        self._queue.close_task(task, by=self._actor, reason=reason)
