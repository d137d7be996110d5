"""What tasks that exist run with from now on: fleet's own flags, put into their task.json."""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from fleet.control import Control
from fleet.control.acts.task_flags import FlagValues, settings_from
from fleet.home.task_json import settings_of
from fleet.home.trusted_commands import check_trusted
from fleet.schemas import LimitWishes, Settings, Task

#: What a flag sets, where that has another name.
FIELDS = {"pin": "pins", "load": "context"}


def plan_changes(
    fleet: Control, tasks: Sequence[Task], given: FlagValues
) -> list[tuple[Task, Settings]]:
    """The settings that each task will have. Raises BadInput and Refused, and writes nothing."""
    for task in tasks if "verify" not in given else ():
        check_trusted(fleet.home, task)
    wishes = settings_from(fleet, given)
    return [(task, changed_by(settings_of(fleet.home, task), wishes, given)) for task in tasks]


def changed_by(before: Settings, wishes: Settings, given: FlagValues) -> Settings:
    """The settings with what was given in the place of what was there; all else stays."""
    names = {FIELDS.get(flag, flag) for flag in given} & set(Settings.__struct_fields__)
    changes = {name: getattr(wishes, name) for name in names}
    if "cwd" in names:
        changes["branch"] = wishes.branch
    if wishes.limits is not None:
        own = msgspec.to_builtins(before.limits or LimitWishes())
        changes["limits"] = LimitWishes(**{**own, **msgspec.to_builtins(wishes.limits)})
    return structs.replace(before, **changes)
