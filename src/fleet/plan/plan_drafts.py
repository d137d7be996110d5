"""A plan as tasks to be: an epic, groups and tasks, the acceptance task at the end. Pure."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, structs

from fleet.plan.neutral_plan import Plan, PlannedTask
from fleet.plan.plan_graph import groups_of, waits_of, waves_of
from fleet.queue.protocol import Draft
from fleet.schemas import Settings, settings_metadata

#: The keys of the epic and of the acceptance task; no task of a plan can have them.
EPIC = ""
ACCEPTANCE = "@acceptance"
#: What a task's metadata holds of its plan.
METADATA = "plan"

_ACCEPT = """\
Every other task of “{title}” is closed. Hold the result against the spec as a whole, as its
reviewer and not as its author.

1. Read {source}.
2. For each requirement, and for each “Given … when … then” or done criterion, find the code and the
   test that meet it, and run what can be run.
3. Mend what is small. For what is larger, make a follow-up: bd create "…" --description "…"
4. Write what you checked, and how, into KNOWLEDGE.md. Close the task when nothing is missing; ask a
   person where the spec contradicts itself.

## Tasks of the plan

{tasks}
"""
#: Characters of what the whole is for that the acceptance task is told.
_MOST_SHOWN = 20_000


class PlanPlace(Struct, frozen=True, kw_only=True):
    """Where a plan comes from, and where the tasks run."""

    #: The spec as its tasks name it: a path from the project's directory on.
    spec: str
    #: The project's directory.
    cwd: str
    #: The branch that the directory has, which the work of its tasks lands on.
    branch: str | None = None
    #: The project's own verify commands, which stand beside those of a task.
    verify: tuple[str, ...] = ()
    #: The spec is a file that agents can read, and not a plan that an agent wrote.
    is_file: bool = True

    def spec_id(self, key: str) -> str:
        return f"{self.spec}#{key}" if key else self.spec


class PlannedDraft(Struct, frozen=True, kw_only=True):
    """A task to be made, with keys in place of ids."""

    key: str
    draft: Draft
    settings: Settings
    after: tuple[str, ...] = ()
    #: The key of the group or of the epic; None: this is the epic.
    parent: str | None = EPIC
    #: The epics that are closed when this task is: those of groups, and the plan's own.
    closes: tuple[str, ...] = ()
    #: A digest of what the task was made from: other words make another digest.
    digest: str = ""


def drafts_of(plan: Plan, place: PlanPlace) -> list[PlannedDraft]:
    """Everything that a plan makes, in the order of making: what is waited for comes first."""
    waits = waits_of(plan)
    families = _families(plan)
    alive = {above for key in waits for above in families[key]}
    known = {task.key: task for task in plan.tasks}
    groups = [key for key in known if key in alive]
    drafts = [_epic(plan, place)]
    drafts += [_group(known[key], place) for key in sorted(groups, key=lambda k: len(families[k]))]
    order = (key for wave in waves_of(waits) for key in wave)
    drafts += [_task(known[key], waits[key], known, place) for key in order]
    drafts.append(_acceptance(plan, tuple(waits), tuple(groups), place))
    # The branch is where a task was made, and no part of what it was made from.
    return [
        structs.replace(
            each,
            digest=_digest(each),
            settings=structs.replace(each.settings, branch=place.branch),
        )
        for each in drafts
    ]


def _families(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The groups above each task, the nearest first."""
    parents = {task.key: task.parent for task in plan.tasks}
    found: dict[str, tuple[str, ...]] = {}
    for key, parent in parents.items():
        line: list[str] = []
        above = parent
        while above and above not in line:
            line.append(above)
            above = parents[above]
        found[key] = tuple(line)
    return found


def _epic(plan: Plan, place: PlanPlace) -> PlannedDraft:
    return _draft(
        EPIC,
        Draft(title=plan.title, description=plan.body or f"From {place.spec}.", issue_type="epic"),
        Settings(cwd=place.cwd),
        place,
        parent=None,
    )


def _group(task: PlannedTask, place: PlanPlace) -> PlannedDraft:
    draft = Draft(
        title=task.title,
        description=task.body,
        issue_type="epic",
        priority=task.priority,
        labels=task.labels,
    )
    return _draft(task.key, draft, Settings(cwd=place.cwd), place, parent=task.parent)


def _task(
    task: PlannedTask,
    after: Sequence[str],
    known: Mapping[str, PlannedTask],
    place: PlanPlace,
) -> PlannedDraft:
    group = known.get(task.parent) if task.parent else None
    parts = [task.body]
    if group is not None:
        parts.append(f"## Part of: {group.title}\n\n{group.body}")
    if task.files:
        parts.append("Files that the plan names: " + ", ".join(task.files))
    draft = Draft(
        title=task.title,
        description="\n\n".join(parts),
        priority=task.priority,
        labels=task.labels,
    )
    settings = Settings(
        cwd=place.cwd,
        coder=task.coder,
        model=task.model,
        expect=task.expect,
        verify=_verify(task.verify, place),
        pins=task.pins,
        scope=task.scope,
    )
    return _draft(task.key, draft, settings, place, parent=task.parent, after=tuple(after))


def _acceptance(
    plan: Plan, work: tuple[str, ...], groups: tuple[str, ...], place: PlanPlace
) -> PlannedDraft:
    holders = groups_of(plan)
    listed = [
        f"- {task.key}: {task.title}" + (" (done before)" if task.done else "")
        for task in plan.tasks
        if task.key not in holders
    ]
    source = f"{place.spec} and what lies beside it" if place.is_file else "what it is for, below"
    text = _ACCEPT.format(title=plan.title, source=source, tasks="\n".join(listed))
    if plan.body.strip():
        text += f"\n## What it is for\n\n{plan.body.strip()[:_MOST_SHOWN]}\n"
    return _draft(
        ACCEPTANCE,
        Draft(title=f"Acceptance: {plan.title}"[:500], description=text, labels=("acceptance",)),
        Settings(cwd=place.cwd, verify=_verify(plan.verify, place)),
        place,
        after=work,
        closes=(*reversed(groups), EPIC),
    )


def _verify(own: Sequence[str], place: PlanPlace) -> tuple[str, ...] | None:
    """A task's own commands beside the project's; None, without own ones: inherits
    the project's.
    """
    return tuple(dict.fromkeys((*place.verify, *own))) if own else None


def _draft(
    key: str,
    draft: Draft,
    settings: Settings,
    place: PlanPlace,
    *,
    parent: str | None = EPIC,
    after: tuple[str, ...] = (),
    closes: tuple[str, ...] = (),
) -> PlannedDraft:
    draft = structs.replace(draft, spec_id=place.spec_id(key), inherit_labels=False)
    return PlannedDraft(
        key=key, draft=draft, settings=settings, parent=parent, after=after, closes=closes
    )


def _digest(planned: PlannedDraft) -> str:
    draft = planned.draft
    parts: list[Any] = [
        draft.title,
        draft.description,
        draft.issue_type,
        draft.priority,
        sorted(draft.labels),
        msgspec.to_builtins(planned.settings),
        sorted(planned.after),
        planned.parent,
        sorted(planned.closes),
    ]
    return sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def metadata_of(planned: PlannedDraft, ids: Mapping[str, str]) -> dict[str, Any]:
    """What is recorded with the task: settings, and what the task was made from."""
    own: dict[str, Any] = {"key": planned.key, "digest": planned.digest}
    if planned.closes:
        own["closes"] = [ids[key] for key in planned.closes if key in ids]
    return {**settings_metadata(planned.settings), METADATA: own}
