"""Create a task from fields instead of a command line, with the same checks and the same trust."""

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from unicodedata import category

import msgspec

from fleet.bd.actor import actor, owner
from fleet.bd.fleet_flags import OWN
from fleet.control import Control
from fleet.control.acts.task_flags import FlagValues, settings_from
from fleet.control.acts.wishes import CreateWish
from fleet.control.queue.place_code import PlacedCode, place_code, push_changes
from fleet.errors import BadInput, NotFound, Refused
from fleet.home import task_json
from fleet.home.trusted_commands import trust
from fleet.queue import PREFIX
from fleet.queue.protocol import Draft
from fleet.schemas import Settings, Task

#: fleet's own flags that a wish may name; the directory is a field of its own.
FLAGS = tuple(flag.name for flag in OWN if flag.name != "cwd")

#: Kinds of characters that end or move a line; not those that join emoji or turn the direction.
_BREAKS = ("Cc", "Zl", "Zp")


def create(fleet: Control, wish: CreateWish, *, env: Mapping[str, str] = os.environ) -> Task:
    """Put a new task into the queue. Raises BadInput; no task is made then."""
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
    code = placed_settings(fleet, {"cwd": (wish.cwd,), **flags})
    settings = code.settings
    draft = Draft(
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
    try:
        made = fleet.queue.add(draft)
    except Refused:
        if task_id is None or (known := _known(fleet, task_id)) is None:
            raise
        return known  # asked for twice at once, and the other was first
    task_json.write(fleet.home, made.id, settings)
    if settings.repository is not None and settings.repository.changes:
        push_changes(fleet, made, settings)  # where that fails the task stays on this host
    return made


def placed_settings(fleet: Control, given: FlagValues) -> PlacedCode:
    """The settings of a task that is to be made, and where its code comes from. Its commands are
    trusted before the task is made: a supervisor may claim it before its task.json is there.
    """
    code = place_code(fleet, settings_from(fleet, given), with_changes="with-changes" in given)
    if code.settings.verify:
        trust(fleet.home, [code.settings], datetime.now(UTC))
    return code


def write_settings_of(fleet: Control, ids: Iterable[str], settings: Settings) -> list[str]:
    """Put the settings of new tasks into task.json too; why some have none. The tasks exist and
    know them: an error would only have the person make them a second time.
    """
    troubles: list[str] = []
    for task_id in ids:
        try:
            task_json.write(fleet.home, task_id, settings)
        except OSError as error:
            why = f"{error.filename} cannot be written: {error.strerror}"
            troubles.append(f"{task_id} has no task.json to edit: {why}")
    return troubles


def _keyed(key: str) -> str:
    """The id of the task that a key stands for: whatever is repeated, a second one is refused."""
    return f"{PREFIX}-{sha256(key.encode(errors='replace')).hexdigest()[:10]}"


def _known(fleet: Control, task_id: str) -> Task | None:
    try:
        return fleet.queue.get(task_id)
    except NotFound:
        return None
