"""`key=value` on the command line: read, and checked as the file is."""

from typing import NamedTuple

from fleet.config import projects as project_tables
from fleet.config.key_kinds import Setting
from fleet.config.keys import KEYS
from fleet.config.projects import LISTS
from fleet.config.runtime_toml import unknown
from fleet.errors import BadInput


def read_assignment(word: str) -> tuple[str, Setting]:
    """`key=value` from the command line, checked."""
    name, equals, raw = word.partition("=")
    if not equals:
        raise BadInput(f"{word!r} is not key=value", hint="For example: max_concurrent=5")
    name = name.strip()
    key = KEYS.get(name)
    if key is None:
        raise BadInput(f"{name or repr(name)} {unknown(name)}")
    value: Setting = raw
    if isinstance(key.default, int):
        try:
            value = int(raw.strip(), 10)
        except ValueError:
            raise BadInput(f"{name} must be a whole number, not {raw!r}") from None
    problem = key.problem(value)
    if problem:
        raise BadInput(f"{name} {problem}")
    return name, value


class ProjectAssignment(NamedTuple):
    """One `key=value` or `key+=line` for a project."""

    name: str
    #: None: the project is to have no value of its own.
    value: Setting | list[str] | None
    #: The lines are added to those of the list; False: they replace them.
    adds: bool = False


def read_project_assignment(word: str) -> ProjectAssignment:
    """`key=value` for a project, checked; a list takes its lines one by one, and without a value it
    is empty. `key+=line` adds a line to a list.
    """
    name, equals, raw = word.partition("=")
    adds = name.endswith("+")
    name = name.removesuffix("+").strip()
    if equals and not project_tables.has(name):
        raise BadInput(f"{name or repr(name)} {project_tables.unknown()}")
    if adds and name not in LISTS:
        raise BadInput(f"{name} is no list: += adds a line to one of {', '.join(LISTS)}")
    if equals and not raw.strip():
        return ProjectAssignment(name, [] if name in LISTS else None, adds)
    value = [raw] if name in LISTS and equals else read_assignment(word)[1]
    problem = project_tables.problem(name, value)
    if problem:
        raise BadInput(f"{name} {problem}")
    return ProjectAssignment(name, value, adds)
