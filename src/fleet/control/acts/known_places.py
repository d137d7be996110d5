"""What a person can choose among for a new task: projects, coders, accounts."""

from collections import Counter

from msgspec import Struct

from fleet.control import Control
from fleet.control.acts.create import FLAGS
from fleet.errors import FleetError
from fleet.queue.protocol import Filter

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
