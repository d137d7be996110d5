"""Creates tasks, whichever surface a person asks on: from a command line, or from fields; and says
what a person can choose among for a new one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeVar
from unicodedata import category

import msgspec
from msgspec import Struct

from fleet.bd.actor import owner
from fleet.bd.arguments.values import known_type
from fleet.bd.fleet_flags import OWN
from fleet.control import Control
from fleet.control.acts.each_act import CreateAct
from fleet.control.acts.task_flags import FlagValues, settings_from
from fleet.control.queue.place_code import PlacedCode, place_code, push_changes
from fleet.errors import BadInput, FleetError, NotFound, Refused
from fleet.home import task_json
from fleet.home.task_policy import check_contradictions, policy_of
from fleet.home.trusted_commands import trust
from fleet.queue import PREFIX
from fleet.queue.protocol import Draft, Filter
from fleet.schemas import Settings, Task

#: fleet's own flags that a wish may name; the directory is a field of its own.
FLAGS = tuple(flag.name for flag in OWN if flag.name != "cwd")

#: Kinds of characters that end or move a line; not those that join emoji or turn the direction.
_BREAKS = ("Cc", "Zl", "Zp")
T = TypeVar("T")


class NewTasks(Struct, frozen=True, kw_only=True):
    """Tasks that were created together."""

    tasks: tuple[Task, ...]
    #: Settings of the tasks, and where the code comes from.
    code: PlacedCode
    #: What went wrong after they were in the queue, a sentence each.
    troubles: tuple[str, ...] = ()


def create_tasks(
    fleet: Control, given: FlagValues, add: Callable[[Settings], tuple[Sequence[Task], T]]
) -> tuple[NewTasks, T]:
    """Create tasks with fleet's own flags; every surface does it here. `add` puts them into the
    queue with their settings, and returns them and what else it has to say.

    Commands are trusted first: a supervisor may claim a task before the task.json is there.
    """
    settings = settings_from(fleet, given)
    check_contradictions(policy_of(fleet.config, settings, settings.cwd or "/").policy)
    code = place_code(fleet, settings, with_changes="with-changes" in given)
    if code.settings.verify:
        trust(fleet.home, [code.settings], datetime.now(UTC))
    tasks, said = add(code.settings)
    troubles = _write_settings(fleet, tasks, code.settings)
    if code.settings.repository is not None and code.settings.repository.changes:
        # Where that fails the task stays on this host.
        whys = [why for task in tasks if (why := push_changes(fleet, task, code.settings))]
        code = PlacedCode(settings=code.settings, stays="; ".join(dict.fromkeys(whys)))
    return NewTasks(tasks=tuple(tasks), code=code, troubles=troubles), said


def create(fleet: Control, wish: CreateAct) -> tuple[str, Task]:
    """Create a task from fields, without a command line. Raises BadInput; no task is made then."""
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

    def add(settings: Settings) -> tuple[Sequence[Task], None]:
        draft = Draft(
            id=task_id,
            title=wish.title,
            description=wish.description,
            design=wish.design,
            acceptance_criteria=wish.acceptance,
            notes=wish.notes,
            priority=wish.priority,
            # On beads bd decides.
            issue_type=(
                wish.type if fleet.config.queue == "beads" else known_type(fleet.tracker, wish.type)
            ),
            labels=wish.labels,
            parent=wish.parent,
            depends_on=tuple(("blocks", each) for each in wish.depends_on),
            blocks=wish.blocks,
            assignee=wish.assignee,
            owner=owner(fleet.env),
            created_by=fleet.by,
            metadata={"fleet": msgspec.to_builtins(settings)},
        )
        return [fleet.queue.add(draft)], None

    if task_id is not None and (known := _known(fleet, task_id)) is not None:
        return _told(known)
    try:
        new, _ = create_tasks(fleet, {"cwd": (wish.cwd,), **flags}, add)
    except Refused:
        if task_id is None or (known := _known(fleet, task_id)) is None:
            raise
        return _told(known)  # asked for twice at once, and the other was first
    return _told(new.tasks[0], *new.troubles)


def _told(task: Task, *troubles: str) -> tuple[str, Task]:
    return ". But ".join((f"{task.id} is in the queue", *troubles)) + ".", task


def _write_settings(fleet: Control, tasks: Iterable[Task], settings: Settings) -> tuple[str, ...]:
    """Put the settings of new tasks into task.json too; why some have none. The tasks exist and
    know them: an error would only have the person make them a second time.
    """
    troubles: list[str] = []
    for task in tasks:
        try:
            task_json.write(fleet.home, task.id, settings)
        except OSError as error:
            why = f"{error.filename} cannot be written: {error.strerror}"
            troubles.append(f"{task.id} has no task.json to edit: {why}")
    return tuple(troubles)


def _keyed(key: str) -> str:
    """The id of the task that a key stands for: whatever is repeated, a second one is refused."""
    return f"{PREFIX}-{sha256(key.encode(errors='replace')).hexdigest()[:10]}"


def _known(fleet: Control, task_id: str) -> Task | None:
    try:
        return fleet.queue.get(task_id)
    except NotFound:
        return None


#: How many tasks are looked through for their directories, and how many projects are offered.
_LOOKED_AT, _OFFERED = 1000, 50


class KnownProject(Struct, frozen=True, kw_only=True):
    """A directory that tasks work in."""

    path: str
    #: How many open tasks the directory has.
    tasks: int = 0
    #: runtime.toml has a table for the directory.
    declared: bool = False


class KnownPlaces(Struct, frozen=True, kw_only=True):
    """The choices for a new task."""

    #: Declared ones first, then directories of tasks, most used first.
    projects: tuple[KnownProject, ...] = ()
    coders: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    #: What runs if nothing is chosen.
    coder: str = ""
    model: str = ""
    #: fleet's own flags that `create` takes.
    flags: tuple[str, ...] = FLAGS


def known_places(fleet: Control) -> KnownPlaces:
    """What is declared, and what open tasks use."""
    try:
        tasks = fleet.queue.find(Filter(limit=_LOOKED_AT))
    except FleetError:
        tasks = ()  # a queue that fails hides no project of runtime.toml
    used = Counter(task.cwd for task in tasks if task.cwd)
    declared = list(fleet.config.projects)
    others = [path for path, _ in used.most_common(_OFFERED) if path not in declared]
    return KnownPlaces(
        projects=tuple(
            KnownProject(path=path, tasks=used[path], declared=path in declared)
            for path in (*declared, *others)
        ),
        coders=fleet.coder_names(),
        accounts=tuple(fleet.config.accounts),
        coder=fleet.config.coder,
        model=fleet.config.model,
    )
