"""Writes a plan to beads: task after task, what is waited for first.

bd has no transaction over several commands. Each task is whole when it is there, with its settings
and what it waits for, and the next `fleet plan apply` makes those that are missing.
"""

from collections.abc import Mapping, Sequence

from msgspec import structs

from fleet.plan.plan_changes import WrittenPlan, changes_of, known_keys, prunable
from fleet.plan.plan_drafts import PlannedDraft, PlanPlace, metadata_of
from fleet.queue.beads.queue import BeadsQueue
from fleet.queue.protocol import Draft, Filter


def write_to_beads(
    queue: BeadsQueue,
    drafts: Sequence[PlannedDraft],
    place: PlanPlace,
    *,
    done: frozenset[str],
    actor: str,
    owner: str,
    prune: bool,
) -> WrittenPlan:
    """Make and change what the plan asks for; a second call goes on where a killed one stopped."""
    known = known_keys(queue.find(Filter(spec=place.spec)), place)
    changes = changes_of(drafts, known, done)
    ids = {key: task.id for key, task in known.items()}
    by_key = {draft.key: draft for draft in drafts}
    for key in changes.new:
        planned = by_key[key]
        blockers = tuple(("blocks", ids[each]) for each in planned.after)
        made = structs.replace(
            _filled(planned, ids), depends_on=blockers, created_by=actor, owner=owner
        )
        ids[key] = queue.add(made).id
    for key in changes.changed:
        _rewrite(queue, by_key[key], ids, actor)
    for key in changes.reopened:
        queue.reopen_task(known[key], by=actor)
        _rewrite(queue, by_key[key], ids, actor)
    pruned = prunable(changes, known) if prune else ()
    for key in pruned:
        _reconnect(queue, ids[key], wanted=set(), ours=set(ids.values()), actor=actor)
        queue.close_task(known[key], by=actor, reason=f"no longer in {place.spec}")
    return WrittenPlan(changes=changes, ids=ids, pruned=pruned)


def _filled(planned: PlannedDraft, ids: Mapping[str, str]) -> Draft:
    parent = None if planned.parent is None else ids[planned.parent]
    return structs.replace(planned.draft, parent=parent, metadata=metadata_of(planned, ids))


def _rewrite(queue: BeadsQueue, planned: PlannedDraft, ids: Mapping[str, str], actor: str) -> None:
    """Give a task new words and dependencies."""
    task_id = ids[planned.key]
    with queue.lock.held():
        queue.tracker.rewrite(task_id, _filled(planned, ids), actor)
    wanted = {ids[key] for key in planned.after}
    _reconnect(queue, task_id, wanted=wanted, ours=set(ids.values()), actor=actor)


def _reconnect(
    queue: BeadsQueue, task_id: str, *, wanted: set[str], ours: set[str], actor: str
) -> None:
    """Have a task wait for these tasks of the plan; edges to tasks outside of the plan stay."""
    with queue.lock.held():
        _, links = queue.tracker.show_with_links([task_id])
        have = {target for _, kind, target in links if kind == "blocks"} & ours
        for target in sorted(have - wanted):
            queue.tracker.undepend(task_id, target, actor)
        for target in sorted(wanted - have):
            queue.tracker.depend(task_id, target, actor)
    queue.bell.ring()
