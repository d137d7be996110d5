"""Changes to tasks from outside the supervisor: edit, claim, close, wake. One transaction each.

A task that a supervisor runs carries its lease. A change of the task's status or holder from
outside takes the lease away, and the supervisor's own later settle is then refused.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType, structs

from fleet.errors import BadInput, NotFound, Refused
from fleet.queue.sql.row_mapping import task_of, to_columns, to_micros
from fleet.queue.sql.sql_queue import TITLE_LIMIT, SqlQueue
from fleet.queue.sql.tracker import comments
from fleet.queue.sql.tracker.related import blockers_of, open_children
from fleet.schemas import CUSTOM_STATUS, Status, Task
from fleet.schemas.noted_waits import last_line, spoken_waits
from fleet.schemas.waits import Asks, PutOff, SetAside, Waits

if TYPE_CHECKING:
    from fleet.queue.sql.tracker.search import Search

#: How many ready tasks `claim_next` looks at before it says that there is none: others may be
#: claiming the first ones right now.
_CANDIDATES = 50


class Stale(Refused):
    """The change was for a state that the task is no longer in."""


class Change(Struct, frozen=True, kw_only=True):
    """What to change of one task. What is not set stays."""

    #: Fields of Task that are simply replaced.
    fields: Mapping[str, Any] = {}
    status: Status | None = None
    #: The name to show in place of the status, if a client of bd named one of its own.
    custom_status: str = ""
    assignee: str | None = None
    defer_until: datetime | UnsetType | None = UNSET
    append_notes: str = ""
    #: Why the task is blocked from now on; None: that follows from status and notes.
    waits: Waits | None = None
    comment: str = ""
    add_labels: Sequence[str] = ()
    remove_labels: Sequence[str] = ()
    set_labels: Sequence[str] | None = None
    merge_metadata: Mapping[str, Any] | None = None
    unset_metadata: Sequence[str] = ()
    #: A new parent; an empty one takes the task out of its family.
    parent: str | None = None
    claim: bool = False
    force: bool = False
    #: Hosts that declined the task are asked again; so they are after a change of its settings.
    any_host: bool = False
    session: str = ""
    if_assignee: str | None = None
    if_status: str | None = None
    if_fence: int | None = None


def take(queue: SqlQueue, task_id: str) -> Task:
    """One task, held against other writers until the caller's transaction ends."""
    rows = queue.rows("tracker.take", {"id": task_id})
    if not rows:
        raise NotFound(f'no issue found matching "{task_id}"')
    return task_of(rows[0])


def save(queue: SqlQueue, task: Task) -> None:
    """Write a task's own row; inside the caller's transaction, which took the row."""
    queue.rows("tracker.save", to_columns(task))


def in_status(task: Task, status: Status, now: datetime) -> Task:
    """The task in another status, with the moments and the claim that go with that status."""
    if status == task.status:
        return task
    if task.status == "closed":
        extra = {name: value for name, value in task.extra.items() if name != "closed_by_session"}
        task = structs.replace(task, closed_at=None, close_reason="", extra=extra)
    task = structs.replace(task, extra=_shown_as(task.extra, ""))
    started = task.started_at or now if status == "in_progress" else task.started_at
    return structs.replace(
        task,
        status=status,
        started_at=started,
        closed_at=now if status == "closed" else None,
        lease_owner=None,
        lease_until=None,
        heartbeat_at=None,
        not_before=None,
        waits=None,
    )


def edit(queue: SqlQueue, task_id: str, change: Change, *, actor: str) -> Task:
    """Change one task, or refuse the whole change; returns the changed task."""
    with queue.db.writing():
        now = queue.db.now()
        before = take(queue, task_id)
        _check_guards(before, change)
        task = claimed(before, actor, now) if change.claim else before
        _check_holder(task, change, actor)
        closing = change.status == "closed" and before.status != "closed"
        if closing and not change.force:
            check_closable(queue, before)
        task = _changed(task, change, now)
        if task != before:
            save(queue, structs.replace(task, updated_at=now))
        _relabel(queue, before, change)
        if change.any_host or (change.merge_metadata and "fleet" in change.merge_metadata):
            queue.rows("delete_declines", {"id": before.id})
        if change.comment:
            comments.comment(queue, before.id, author=actor, text=change.comment, at=now)
        if change.parent is not None:
            _set_parent(queue, before.id, change.parent, actor)
        return queue.get(before.id)


def close(
    queue: SqlQueue,
    task_id: str,
    *,
    reason: str,
    actor: str,
    force: bool = False,
    session: str = "",
) -> Task:
    """Close one task; a closed one stays unchanged."""
    change = Change(status="closed", fields={"close_reason": reason}, session=session, force=True)
    with queue.db.writing():
        task = take(queue, task_id)
        if task.status == "closed":
            return task
        if not force:
            _check_may_close(queue, task, actor)
        return edit(queue, task_id, change, actor=actor)


def same_actor(one: str, other: str) -> bool:
    """Names that differ only in their separators are one actor, as for bd."""
    return re.sub(r"[._-]+", "-", one) == re.sub(r"[._-]+", "-", other)


def claimed(task: Task, actor: str, now: datetime) -> Task:
    """The task, claimed by this actor. An actor's claim of a task it has changes nothing."""
    if task.assignee and not same_actor(task.assignee, actor):
        raise Refused(f"issue already claimed by {task.assignee}")
    if task.status == "in_progress" and task.assignee:
        return task
    if task.status != "open":
        raise Refused(f"issue not claimable: status {task.status}")
    task = in_status(task, "in_progress", now)
    return structs.replace(
        task, assignee=actor, heartbeat_at=now, fence=task.fence + 1, updated_at=now
    )


def heartbeat(queue: SqlQueue, task_id: str, *, actor: str) -> Task:
    """Renew a person's claim. Raises Refused for a claim of another, or of a supervisor."""
    with queue.db.writing():
        task = take(queue, task_id)
        if task.status != "in_progress":
            raise Refused(f"issue not claimable: {task.id} status {task.status}")
        if not same_actor(task.assignee, actor):
            raise Refused(f"issue already claimed by {task.assignee}")
        if task.lease_owner is not None:
            raise Refused(f"a supervisor runs {task.id} and renews its lease")
        save(queue, structs.replace(task, heartbeat_at=queue.db.now()))
        return queue.get(task.id)


def claim_next(queue: SqlQueue, want: "Search", *, actor: str) -> Task | None:
    """Claim the first task of a search without an assignee for this actor; None: there is none.

    A person's claim, or that of an agent outside a run, is an assignee without a lease.
    """
    from fleet.queue.sql.tracker.search import Condition, search  # few changes look for a task

    unassigned = Condition("tasks.assignee = ''")
    free = structs.replace(want, where=(*want.where, unassigned), limit=_CANDIDATES)
    with queue.db.writing():
        for candidate in search(queue, free):
            task = take(queue, candidate.id)
            if task.status == "open" and not task.assignee:
                task = claimed(task, actor, queue.db.now())
                save(queue, task)
                return task
    return None


def wake(queue: SqlQueue) -> None:
    """Open tasks whose deferral has ended. Looks first: reading must not lock."""
    now = {"now": to_micros(queue.db.now())}
    if queue.rows("tracker.sleepers", now):
        queue.rows("tracker.wake", now)


def check_closable(queue: SqlQueue, task: Task) -> None:
    """Refuse to close what still waits for something or has open children."""
    blockers = [
        blocker.id if blocker.type == "blocks" else f"{blocker.id} ({blocker.type})"
        for blocker in blockers_of(queue, task.id)
    ]
    if blockers:
        raise Refused(
            f"cannot close blocked issue: {task.id} is blocked by [{' '.join(blockers)}]"
            " (use --force to override)"
        )
    children = open_children(queue, task.id)
    if children:
        raise Refused(
            f"cannot close {task.id}: {children} open child issue(s);"
            " close children first or use --force to override"
        )


def _check_may_close(queue: SqlQueue, task: Task, actor: str) -> None:
    if task.assignee and not same_actor(task.assignee, actor):
        raise Refused(
            f'cannot close {task.id}: assignee is "{task.assignee}", actor is "{actor}"'
            " (use --force to override)"
        )
    if task.status == "pinned":
        raise Refused(f"cannot close pinned issue {task.id} (use --force to override)")
    check_closable(queue, task)


def _check_guards(task: Task, change: Change) -> None:
    if change.if_assignee is not None and task.assignee != change.if_assignee:
        raise Stale(
            f'assignee mismatch: {task.id} is held by "{task.assignee}",'
            f' expected "{change.if_assignee}"'
        )
    if change.if_status is not None and task.status != change.if_status:
        raise Stale(
            f'status mismatch: {task.id} has status "{task.status}", expected "{change.if_status}"'
        )
    if change.if_fence is not None and task.fence != change.if_fence:
        raise Stale(f"fence mismatch: {task.id} has fence {task.fence}, expected {change.if_fence}")


def _check_holder(task: Task, change: Change, actor: str) -> None:
    """Refuse to reassign work in progress, unless the holder asks, or by force."""
    holder = task.assignee
    if change.assignee is None or change.force or task.status != "in_progress" or not holder:
        return
    if not same_actor(holder, actor) and not same_actor(holder, change.assignee):
        raise Refused(
            f'cannot reassign {task.id}: held by "{holder}" (in_progress);'
            " use --force only if that claim is abandoned"
        )


def _changed(before: Task, change: Change, now: datetime) -> Task:
    task = before
    title = change.fields.get("title", "")
    if len(title) > TITLE_LIMIT:
        raise BadInput(f"title must be {TITLE_LIMIT} characters or less (got {len(title)})")
    if change.status is not None:
        task = in_status(task, change.status, now)
    elif change.defer_until is None and task.status == "deferred":
        task = in_status(task, "open", now)
    elif isinstance(change.defer_until, datetime) and change.defer_until > now:
        task = in_status(task, "deferred", now)
    if change.status is not None:
        task = structs.replace(task, extra=_shown_as(task.extra, change.custom_status))
    if change.assignee is not None:
        if not same_actor(change.assignee, task.assignee):
            task = structs.replace(task, lease_owner=None, lease_until=None, heartbeat_at=None)
        task = structs.replace(task, assignee=change.assignee)
    more: dict[str, Any] = dict(change.fields)
    if change.defer_until is not UNSET:
        more["defer_until"] = change.defer_until
    if change.append_notes:
        notes = more.get("notes", task.notes)
        more["notes"] = f"{notes}\n{change.append_notes}" if notes else change.append_notes
    if change.session and change.status == "closed":
        more["extra"] = {**task.extra, "closed_by_session": change.session}
    if change.merge_metadata is not None or change.unset_metadata:
        merged = {**task.metadata, **(change.merge_metadata or {})}
        more["metadata"] = {
            key: value for key, value in merged.items() if key not in change.unset_metadata
        }
    task = structs.replace(task, **more)
    return structs.replace(task, waits=_waits(before, task, change))


def _waits(before: Task, after: Task, change: Change) -> Waits | None:
    """Why the task waits after a change. A client of bd that sets a task to blocked and notes a
    question asks it. The question is open, whatever is noted later, until the status changes.
    """
    if isinstance(before.waits, PutOff) and after.not_before is not None:
        return before.waits
    if change.waits is not None or after.status != "blocked":
        return change.waits
    said = change.append_notes or str(change.fields.get("notes", ""))
    asked = spoken_waits(said)
    if before.status != "blocked":
        return asked or SetAside(note=last_line(said))
    replaced = before.waits is None or isinstance(before.waits, Asks | SetAside)
    return asked if replaced and isinstance(asked, Asks) else before.waits


def _shown_as(extra: Mapping[str, Any], custom: str) -> dict[str, Any]:
    kept = {name: value for name, value in extra.items() if name != CUSTOM_STATUS}
    return {**kept, CUSTOM_STATUS: custom} if custom else kept


def _relabel(queue: SqlQueue, task: Task, change: Change) -> None:
    have = set(task.labels)
    want = set(have if change.set_labels is None else change.set_labels)
    want = (want | set(change.add_labels)) - set(change.remove_labels)
    for label in sorted(have - want):
        queue.rows("tracker.delete_label", {"id": task.id, "label": label})
    for label in sorted(want - have):
        queue.rows("insert_label", {"id": task.id, "label": label})


def _set_parent(queue: SqlQueue, task_id: str, parent: str, actor: str) -> None:
    queue.rows("tracker.delete_parents", {"id": task_id})
    if parent:
        queue.depend(task_id, parent, "parent-child", by=actor)
