"""`[projects."/some/directory"]` in runtime.toml: what differs for the tasks of one project.

A project is a directory; the innermost one that holds a task's directory counts. On a queue that
hosts share it may also be the address of a repository: for the tasks of other hosts, whose
directories are not here. Directories are compared by what they are: links and `..` make no second
project, and the tables keep the spelling that a person chose.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any, cast

from msgspec import Struct, field

from fleet.config.key_kinds import Setting
from fleet.config.keys import KEYS
from fleet.errors import BadInput
from fleet.schemas.policy import check_host, check_need, check_opened, check_place

TABLE = "projects"
#: In the home: one repository without files for each address that tasks of other hosts name.
MIRRORS = "mirrors"


class Project(Struct, frozen=True, kw_only=True):
    """What one project sets."""

    path: str
    #: The project's values of the keys that a project may have.
    settings: dict[str, Setting] = field(default_factory=dict[str, Setting])
    # Keys that only a project has, each a list of lines.
    #: Commands that must succeed before a task is closed.
    verify: tuple[str, ...] = ()
    #: Files that those commands need, taken as they were when the run began.
    pins: tuple[str, ...] = ()
    #: Commands that must succeed before work lands; none: those of verify.
    land_verify: tuple[str, ...] = ()
    #: Patterns of paths that work lands on only after a person approved it.
    land_protect: tuple[str, ...] = ()
    #: Where files may be changed, as patterns below the project's directory.
    scope: tuple[str, ...] = ()
    #: Commands that make a fresh clone or checkout fit to work in.
    setup: tuple[str, ...] = ()
    #: Paths that git ignores, like .venv, which clones and checkouts get as links.
    share: tuple[str, ...] = ()
    #: What an agent must have from its start on: mcp:NAME, tool:NAME.
    needs: tuple[str, ...] = ()
    #: What the box opens to be read beside the usual: paths, also ~/….
    sandbox_read: tuple[str, ...] = ()
    #: What the box opens to be written beside the task's own directories.
    sandbox_write: tuple[str, ...] = ()
    #: Hosts that a strict box leads to, like pkgs.example.org or *.example.org.
    sandbox_hosts: tuple[str, ...] = ()
    #: Hosts that set-up commands reach from a box; without any they are offline.
    setup_hosts: tuple[str, ...] = ()


#: The lists of a project, each with the check of its lines, if there is one.
LISTS: Mapping[str, Callable[[str], object] | None] = {
    **dict.fromkeys(Project.__struct_fields__[2:]),
    "needs": check_need,
    "pins": partial(check_place, from_top=False),
    "share": partial(check_place, from_top=False),
    "scope": partial(check_place, from_top=True),
    "land_protect": partial(check_place, from_top=True),
    "sandbox_read": check_opened,
    "sandbox_write": check_opened,
    "sandbox_hosts": check_host,
    "setup_hosts": check_host,
}


def read(table: object) -> tuple[dict[str, Project], str]:
    """The projects of a file, and what is wrong with the table; empty if nothing is."""
    if not isinstance(table, dict):
        return {}, 'must be tables like [projects."/srv/app"]'
    found: dict[str, Project] = {}
    for path, body in cast("dict[str, Any]", table).items():
        if not PurePath(path).is_absolute() and not is_address(path):
            return {}, f"names {path!r}, which is no absolute path and no address of a repository"
        if not isinstance(body, dict):
            return {}, f'must be tables like [projects."{path}"]'
        for name, value in cast("dict[str, Any]", body).items():
            if wrong := problem(name, value):
                return {}, f'"{path}": {name} {wrong}'
        found[path] = _project(path, cast("dict[str, Any]", body))
    return found, ""


def problem(name: str, value: object) -> str:
    """Why a project cannot have this; empty: a project can."""
    if name in LISTS:
        lines = cast("list[object]", value) if isinstance(value, list) else [value]
        if not all(isinstance(line, str) and line.strip() and "\0" not in line for line in lines):
            return f"must be a list of lines, not {value!r}"
        return _lines_problem(name, cast("list[str]", lines))
    return KEYS[name].problem(value) if has(name) else unknown()


def has(name: str) -> bool:
    """Whether a project may have this key."""
    return name in LISTS or (name in KEYS and KEYS[name].per_project)


def unknown() -> str:
    """The complaint about a key that no project has."""
    return f"is not a key of a project; known: {', '.join(filter(has, [*LISTS, *KEYS]))}"


def _lines_problem(name: str, lines: list[str]) -> str:
    check = LISTS[name] or str
    try:
        for line in lines:
            check(line)
    except BadInput as error:
        return f"cannot be used: {error.message}. {error.hint}"
    return ""


def is_address(text: str) -> bool:
    """The text is the address of a repository: `https://…`, `git@host:path`."""
    head, colon, rest = text.partition(":")
    return bool(colon and rest) and not rest.startswith(":") and "/" not in head


def mirror_key(url: str) -> str:
    """The name of the directory that stands for the repository of an address."""
    import hashlib  # loads OpenSSL, which most commands do without

    return hashlib.sha256(url.encode(errors="replace")).hexdigest()[:16]


def of(projects: Mapping[str, Project], cwd: str) -> Project:
    """The project that a directory belongs to; if to none, one without settings of its own."""
    if not projects:  # as in most homes; each row of a list asks, and links take time to follow
        return Project(path=cwd)
    parts = PurePath(cwd).parts
    if MIRRORS in parts:
        for address in filter(is_address, projects):
            if mirror_key(address) in parts:
                return projects[address]
    named = name_of(projects, cwd)
    return projects[named] if named else Project(path=cwd)


def name_of(projects: Mapping[str, Project], cwd: str, *, inside: bool = True) -> str:
    """The name of the innermost project that holds a directory; empty: none does. `inside` False:
    only a project that is this directory itself.
    """
    directories = [path for path in projects if not is_address(path)]
    for places in (_real, os.path.normpath):  # by spelling, where no project holds it by what it is
        place = PurePath(places(cwd))
        known = {path: PurePath(places(path)) for path in directories}
        holding = [
            path
            for path, top in known.items()
            if (place.is_relative_to(top) if inside else place == top)
        ]
        if holding:
            return max(holding, key=lambda path: (len(known[path].parts), _spells(path, cwd)))
    return ""


def way_up(project: Project, cwd: str) -> str:
    """The project's directory as seen from one below."""
    places = os.path.normpath if _spells(project.path, cwd) else _real
    return os.path.relpath(places(project.path), places(cwd))


def _real(path: str) -> str:
    return os.path.realpath(path)


def _spells(path: str, cwd: str) -> bool:
    return PurePath(os.path.normpath(cwd)).is_relative_to(os.path.normpath(path))


def _project(path: str, body: Mapping[str, Any]) -> Project:
    lists = {
        name: (body[name],) if isinstance(body[name], str) else tuple(body[name])
        for name in LISTS
        if name in body
    }
    settings = {name: body[name] for name in body if name not in LISTS}
    return Project(path=path, settings=settings, **lists)
