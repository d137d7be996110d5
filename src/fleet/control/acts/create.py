"""Create a task from fields instead of a command line, with the same checks and the same trust."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from unicodedata import category

import msgspec

from fleet.bd.actor import actor, owner
from fleet.bd.fleet_flags import OWN
from fleet.control import Control
from fleet.control.acts.task_flags import settings_from
from fleet.control.acts.wishes import CreateWish
from fleet.control.queue.place_code import place_code, push_changes
from fleet.errors import BadInput, NotFound
from fleet.home import task_json
from fleet.home.trusted_commands import trust
from fleet.queue import PREFIX
from fleet.queue.protocol import Draft
from fleet.schemas import Task

#: fleet's own flags that a wish may name; the directory is a field of its own.
FLAGS = tuple(flag.name for flag in OWN if flag.name != "cwd")

#: Kinds of characters that end or move a line; not those that join emoji or turn the direction.
_BREAKS = ("Cc", "Zl", "Zp")


def create(fleet: Control, wish: CreateWish, *, env: Mapping[str, str] = os.environ) -> Task:
    """Put a new task into the queue. Raises BadInput, and then there is none."""
    if any(category(letter) in _BREAKS for letter in wish.title):
        raise BadInput("a title is one line without control characters", hint="Write it anew.")
    strange = sorted(set(wish.flags) - set(FLAGS))
    if strange:
        raise BadInput(f"there is no flag {strange[0]!r}", hint=f"Known: {', '.join(FLAGS)}")
    flags = {
        name: (value,) if isinstance(value, str) else tuple(value)
        for name, value in wish.flags.items()
        if value
    }
    task_id = _keyed(wish.key) if wish.key else None
    if task_id is not None and (known := _known(fleet, task_id)) is not None:
        return known
    wanted = settings_from(fleet, {"cwd": (wish.cwd,), **flags})
    code = place_code(fleet, wanted, with_changes="with-changes" in flags)
    settings = code.settings
    if settings.verify:
        # Before the task is made: a supervisor may claim the task before its task.json is there.
        trust(fleet.home, [settings], datetime.now(UTC))
    made = fleet.queue.add(
        Draft(
            id=task_id,
            title=wish.title,
            description=wish.description,
            design=wish.design,
            acceptance_criteria=wish.acceptance,
            notes=wish.notes,
            priority=wish.priority,
            issue_type=wish.type,
            labels=wish.labels,
            parent=wish.parent,
            depends_on=tuple(("blocks", each) for each in wish.depends_on),
            blocks=wish.blocks,
            assignee=wish.assignee,
            owner=owner(env),
            created_by=actor(env),
            metadata={"fleet": msgspec.to_builtins(settings)},
        )
    )
    task_json.write(fleet.home, made.id, settings)
    if settings.repository is not None and settings.repository.changes:
        push_changes(fleet, made, settings)  # where that fails the task stays on this host
    return made


def _keyed(key: str) -> str:
    """The id of the task that a key stands for: whatever is repeated, a second one is refused."""
    return f"{PREFIX}-{sha256(key.encode(errors='replace')).hexdigest()[:10]}"


def _known(fleet: Control, task_id: str) -> Task | None:
    try:
        return fleet.queue.get(task_id)
    except NotFound:
        return None
