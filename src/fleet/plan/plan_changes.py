"""What applying a plan would change: the drafts held against the tasks in the queue. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from fleet.plan.plan_drafts import ACCEPTANCE, EPIC, METADATA, PlannedDraft, PlanPlace
from fleet.schemas import Task


class PlanChanges(Struct, frozen=True, kw_only=True):
    """The keys of a plan by what becomes of them, and the tasks that the plan no longer has."""

    new: tuple[str, ...] = ()
    #: Never begun, and other words in the plan now.
    changed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    #: Begun or closed, and other words in the plan now: these are left alone.
    left: tuple[str, ...] = ()
    #: Closed, and opened again since the plan has new tasks: the epic, the acceptance task.
    reopened: tuple[str, ...] = ()
    #: Not in the plan any more and not closed: those never begun, and those that were.
    gone: tuple[str, ...] = ()
    gone_begun: tuple[str, ...] = ()
    #: Ticked in the spec, and not closed in the queue.
    ticked: tuple[str, ...] = ()

    @property
    def writes(self) -> int:
        """How many tasks are written without `--prune`."""
        return len(self.new) + len(self.changed) + len(self.reopened)


class WrittenPlan(Struct, frozen=True, kw_only=True):
    """What was written: the changes as they were made, and the id of each key."""

    changes: PlanChanges
    ids: Mapping[str, str]
    #: Keys of tasks that `--prune` closed.
    pruned: tuple[str, ...] = ()


def prunable(changes: PlanChanges, known: Mapping[str, Task]) -> tuple[str, ...]:
    """The keys that `--prune` closes: not in the plan any more or ticked there, and never begun."""
    ticked = (key for key in changes.ticked if not begun(known[key]))
    return (*changes.gone, *ticked)


def known_keys(tasks: Iterable[Task], place: PlanPlace) -> dict[str, Task]:
    """The tasks of a spec by their keys; of two with one key, the later one."""
    found: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda task: (task.created_at, task.id)):
        name, mark, key = task.spec_id.partition("#")
        if name == place.spec and task.cwd == place.cwd and bool(mark) == bool(key):
            found[key] = task
    return found


def begun(task: Task) -> bool:
    """An agent or a person took the task up."""
    held = task.status in ("in_progress", "hooked", "pinned", "closed")
    return held or task.fence > 0 or task.started_at is not None


def digest_in(task: Task) -> str:
    """The digest that a task was made from; empty if none is noted."""
    return str(_of_plan(task).get("digest", ""))


def epics_closed_by(task: Task) -> tuple[str, ...]:
    """The epics that end with this task: those of the plan, if this is the acceptance task."""
    ids = _of_plan(task).get("closes", ())
    return tuple(map(str, cast("list[Any]", ids))) if isinstance(ids, list) else ()


def _of_plan(task: Task) -> dict[str, Any]:
    own = task.metadata.get(METADATA)
    return cast("dict[str, Any]", own) if isinstance(own, dict) else {}


def changes_of(
    drafts: Sequence[PlannedDraft], known: Mapping[str, Task], done: frozenset[str]
) -> PlanChanges:
    """What applying these drafts changes; `done` are the keys that are ticked in the spec."""
    found: dict[str, list[str]] = {}
    for draft in drafts:
        found.setdefault(_state(draft, known.get(draft.key)), []).append(draft.key)
    new = found.get("new", [])
    reopened = [key for key in (EPIC, ACCEPTANCE) if new and _is_closed(known.get(key))]
    wanted = {draft.key for draft in drafts}
    others = [key for key, task in known.items() if key not in wanted and task.status != "closed"]
    vanished = [key for key in others if key not in done]
    return PlanChanges(
        new=tuple(new),
        changed=tuple(found.get("changed", ())),
        same=tuple(found.get("same", ())),
        left=tuple(key for key in found.get("left", ()) if key not in reopened),
        reopened=tuple(reopened),
        gone=tuple(key for key in vanished if not begun(known[key])),
        gone_begun=tuple(key for key in vanished if begun(known[key])),
        ticked=tuple(key for key in others if key in done),
    )


def _state(draft: PlannedDraft, task: Task | None) -> str:
    if task is None:
        return "new"
    if digest_in(task) == draft.digest:
        return "same"
    return "left" if begun(task) else "changed"


def _is_closed(task: Task | None) -> bool:
    return task is not None and task.status == "closed"
