"""`fleet plan apply`: make tasks of a plan, or change those that an earlier one made."""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import structs

from fleet.bd.actor import owner
from fleet.control import Control, refuse_agents
from fleet.control.hosts.other_hosts import write_settings
from fleet.control.plan.load_plan import LoadedPlan
from fleet.control.queue.place_code import place_code
from fleet.files.file_lock import exclusive
from fleet.home import task_json
from fleet.home.task_json import recorded_settings
from fleet.home.trusted_commands import trust
from fleet.plan.plan_changes import PlanChanges, WrittenPlan, known_keys
from fleet.plan.plan_drafts import PlannedDraft
from fleet.plan.write_plan import write_plan
from fleet.queue.protocol import Filter
from fleet.schemas import Settings, Task


def known_tasks(fleet: Control, plan: LoadedPlan) -> dict[str, Task]:
    """The tasks that the queue has of a plan, by their keys."""
    return known_keys(fleet.queue.find(Filter(spec=plan.place.spec)), plan.place)


def apply(
    fleet: Control,
    plan: LoadedPlan,
    now: datetime,
    *,
    prune: bool = False,
) -> WrittenPlan:
    """Write the plan to the queue, in the name of the person who looked at the plan.

    The plan's verify commands are trusted first: a supervisor may claim a task the moment it is
    there.
    """
    refuse_agents(fleet.env, "apply a plan")
    before = known_tasks(fleet, plan)
    plan = _with_code(fleet, plan, before)
    trust(fleet.home, [each.settings for each in plan.drafts if each.settings.verify], now)
    with exclusive(fleet.home.path / "plan.lock"):  # on beads there is no transaction to do it
        written = write_plan(
            fleet.queue, plan.drafts, plan.place, done=plan.done, prune=prune,
            actor=fleet.by, owner=owner(fleet.env),
        )  # fmt: skip
    _renew_settings(fleet, plan, before, written.changes)
    return written


def _with_code(fleet: Control, plan: LoadedPlan, known: Mapping[str, Task]) -> LoadedPlan:
    """The plan with the origin of the tasks' code, as `fleet bd create` records origins; a task
    that is there already keeps the origin that it has.
    """
    if not fleet.is_shared:
        return plan
    placed: dict[bytes, Settings] = {}

    def with_code(each: PlannedDraft) -> PlannedDraft:
        if (task := known.get(each.key)) is not None:
            old = recorded_settings(task)
            own = structs.replace(each.settings, made_on=old.made_on, repository=old.repository)
        else:
            key = msgspec.json.encode(each.settings)
            own = placed[key] = placed.get(key) or place_code(fleet, each.settings).settings
        return structs.replace(each, settings=own)

    return structs.replace(plan, drafts=tuple(map(with_code, plan.drafts)))


def _renew_settings(
    fleet: Control, plan: LoadedPlan, before: Mapping[str, Task], made: PlanChanges
) -> None:
    """Bring what the plan changed into the task.json of tasks that have one.

    What a person changed there, and the plan did not, stays.
    """
    by_key = {draft.key: draft for draft in plan.drafts}
    for key in made.changed:
        task = before.get(key)
        own = task_json.read(fleet.home, task.id) if task else None
        if task is not None and own is not None:
            new = merged(own, recorded_settings(task), by_key[key].settings)
            if new != own:
                write_settings(fleet, fleet.queue.get(task.id), new)


def merged(own: Settings, old: Settings, new: Settings) -> Settings:
    """A person's settings of a task, with what differs between two versions of a plan. Pure."""
    fields = Settings.__struct_fields__
    moved = {
        name: getattr(new, name) for name in fields if getattr(new, name) != getattr(old, name)
    }
    return structs.replace(own, **moved)
