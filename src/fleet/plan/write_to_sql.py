"""Writes a plan to an SQL queue: everything in one transaction, or nothing."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import structs

from fleet.plan.plan_changes import WrittenPlan, changes_of, known_keys, prunable
from fleet.plan.plan_drafts import PlannedDraft, PlanPlace, metadata_of
from fleet.queue.protocol import Filter
from fleet.queue.sql import dependencies
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import edges_from
from fleet.schemas import Dependency, Task


def write_to_sql(
    queue: SqlQueue,
    drafts: Sequence[PlannedDraft],
    place: PlanPlace,
    *,
    done: frozenset[str],
    actor: str,
    owner: str,
    prune: bool,
) -> WrittenPlan:
    """Make and change what the plan asks for.

    The queue is looked at inside of the transaction: of two processes that apply one plan, the
    second one finds what the first one made.
    """
    with queue.db.writing():
        queue.db.rows(queue.sql["lock_graph"])
        known = known_keys(queue.find(Filter(spec=place.spec)), place)
        changes = changes_of(drafts, known, done)
        ids = {key: task.id for key, task in known.items()}
        by_key = {draft.key: draft for draft in drafts}
        for key in changes.new:
            ids[key] = _add(queue, by_key[key], ids, actor, owner).id
        now = queue.db.now()
        for key in changes.new:
            _connect(queue, by_key[key], ids, actor, now)
        for key in changes.changed:
            _change(queue, by_key[key], known[key], ids, actor)
        for key in changes.reopened:
            _reopen(queue, by_key[key], known[key], ids, actor)
        pruned = prunable(changes, known) if prune else ()
        for key in pruned:
            _close(queue, known[key], actor, place.spec)
    return WrittenPlan(changes=changes, ids=ids, pruned=pruned)


def _add(
    queue: SqlQueue, planned: PlannedDraft, ids: Mapping[str, str], actor: str, owner: str
) -> Task:
    draft = structs.replace(
        planned.draft,
        parent=None if planned.parent is None else ids[planned.parent],
        metadata=metadata_of(planned, ids),
        created_by=actor,
        owner=owner,
    )
    return queue.add(draft)


def _connect(
    queue: SqlQueue, planned: PlannedDraft, ids: Mapping[str, str], actor: str, now: datetime
) -> None:
    """Make a new task wait. No circle can come of it: the plan has none, and nothing outside of the
    plan waits for a task that was not there.
    """
    for key in planned.after:
        dependencies.insert(queue, _edge(ids[planned.key], ids[key], actor, now))


def _edge(task_id: str, target: str, actor: str, now: datetime) -> Dependency:
    return Dependency(task_id=task_id, depends_on_id=target, created_at=now, created_by=actor)


def _change(
    queue: SqlQueue, planned: PlannedDraft, task: Task, ids: Mapping[str, str], actor: str
) -> None:
    """Give a task that was never begun new words; refused if the task is begun by now."""
    draft = planned.draft
    fields = {
        "title": draft.title,
        "description": draft.description,
        "priority": draft.priority,
        "issue_type": draft.issue_type,
    }
    change = Change(
        fields=fields,
        set_labels=draft.labels,
        merge_metadata=metadata_of(planned, ids),
        parent=None if planned.parent is None else ids[planned.parent],
        if_status=task.status,
        if_fence=task.fence,
    )
    edit(queue, task.id, change, actor=actor)
    _reconnect(queue, planned, ids, actor)


def _reconnect(queue: SqlQueue, planned: PlannedDraft, ids: Mapping[str, str], actor: str) -> None:
    """Have a task wait for what the plan says; edges to tasks outside of the plan stay."""
    task_id, ours = ids[planned.key], set(ids.values())
    wanted = {ids[key] for key in planned.after}
    edges = edges_from(queue, [task_id]).get(task_id, ())
    have = {edge.depends_on_id for edge in edges if edge.type == "blocks"} & ours
    for target in have - wanted:
        dependencies.undepend(queue, task_id, target)
    for target in sorted(wanted - have):
        queue.depend(task_id, target, by=actor)


def _reopen(
    queue: SqlQueue, planned: PlannedDraft, task: Task, ids: Mapping[str, str], actor: str
) -> None:
    """Open the epic or the acceptance task again, for the tasks that are new."""
    change = Change(
        status="open",
        assignee="",
        fields={"title": planned.draft.title, "description": planned.draft.description},
        merge_metadata=metadata_of(planned, ids),
        if_status=task.status,
    )
    edit(queue, task.id, change, actor=actor)
    _reconnect(queue, planned, ids, actor)


def _close(queue: SqlQueue, task: Task, actor: str, spec: str) -> None:
    change = Change(
        status="closed",
        fields={"close_reason": f"no longer in {spec}"},
        if_status=task.status,
        if_fence=task.fence,
        force=True,
    )
    edit(queue, task.id, change, actor=actor)
