"""`runtime.toml` and the settings that it gives: the only code that reads or writes the file.

`keys` says what may stand in it, and `key=value` on a command line is checked as the file is.
A broken file is an error with its place, never a default in disguise.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import field

from fleet.config import accounts as account_tables
from fleet.config import earlier_keys, price_tables
from fleet.config import notify as notify_table
from fleet.config import otel as otel_table
from fleet.config import projects as project_tables
from fleet.config.key_kinds import Setting
from fleet.config.keys import KEYS, KeyValues
from fleet.config.notify import NotifySettings
from fleet.config.otel import OtelSettings
from fleet.config.projects import LISTS, Project
from fleet.errors import BadInput, ConfigError
from fleet.schemas import Account, Price
from fleet.schemas.hosts.lease_terms import lease_problem
from fleet.schemas.policy import contradiction

FILE = "runtime.toml"


class Config(KeyValues, frozen=True, kw_only=True):
    """The values of all keys, and what the tables of runtime.toml say."""

    #: What differs for the tasks of one project, by its directory.
    projects: dict[str, Project] = field(default_factory=dict[str, Project])
    #: What tokens cost by a person's own knowledge, by a pattern of the model's name.
    prices: dict[str, Price] = field(default_factory=dict[str, Price])

    #: Which people are told of what needs a person, and how.
    notify: NotifySettings = field(default_factory=NotifySettings)

    #: Where traces of tasks and runs go.
    otel: OtelSettings = field(default_factory=OtelSettings)

    #: The logins and keys that there are, by name; none: the user's own.
    accounts: dict[str, Account] = field(default_factory=dict[str, Account])

    #: What the file says in the words of an earlier fleet, and what that means today.
    converted: tuple[str, ...] = ()

    @property
    def shares_queue(self) -> bool:
        """Other machines may work on the same queue."""
        return self.queue not in ("embedded", "beads")

    def project(self, cwd: str) -> Project:
        """The project that a directory belongs to."""
        return project_tables.of(self.projects, cwd)


def load(path: Path) -> Config:
    """Read and check the whole file."""
    return checked(read_text(path), path)


def checked(text: str, path: Path) -> Config:
    """The settings in the text of a runtime.toml, written or about to be."""
    found = parse(text, path)
    converted = earlier_keys.convert(found)
    tables: dict[str, Any] = {}
    for table in (project_tables, price_tables, notify_table, otel_table):
        tables[table.TABLE], wrong = table.read(found.pop(table.TABLE, {}))
        hint = "See what is known: fleet usage --prices" if table is price_tables else ""
        _refuse(text, path, table.TABLE, wrong, hint=hint)
    accounts = found.pop(account_tables.TABLE, {})
    for name, value in found.items():
        key = KEYS.get(name)
        problem = key.problem(value) if key else unknown(name)
        hint = f"Edit the file, or: fleet config set {name}=…" if key else ""
        _refuse(text, path, name, problem, hint=hint)
    tables[account_tables.TABLE], wrong = account_tables.read(accounts, found.get("stop_at", 100))
    _refuse(text, path, account_tables.TABLE, wrong)
    settings = Config(**found, **tables, converted=converted)
    _refuse_contradictions(text, path, settings)
    if settings.shares_queue:
        _refuse(text, path, "lease_s", lease_problem(settings.lease_s, settings.grace_s))
    return settings


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no {path}", hint="Run: fleet init") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def given_keys(path: Path) -> frozenset[str]:
    """The keys that the file sets, by their names today."""
    found = parse(read_text(path), path)
    earlier_keys.convert(found)
    return frozenset(found.keys() & KEYS.keys())


def parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number, or brackets, without an end
        last = text.split("\n")
        end = f"at line {len(last)}, column {len(last[-1]) + 1}"
        raise ConfigError(
            f"{path} is not valid TOML: {str(error).replace('at end of document', end)}",
            hint="Mend that line: nothing runs on a guess. To see it: fleet config show --raw",
        ) from None


def unknown(name: str) -> str:
    """The complaint about a key that does not exist, with the nearest one that does."""
    if name in earlier_keys.GONE:
        return earlier_keys.GONE[name]
    from difflib import get_close_matches

    table = name.partition(".")[0]
    if table in (notify_table.TABLE, otel_table.TABLE, price_tables.TABLE, account_tables.TABLE):
        return f"is in a table: edit runtime.toml below [{table}]"
    near = get_close_matches(name, KEYS, n=1)
    known = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(KEYS)}"
    return f"is not a key of fleet; {known}"


def changed(
    text: str,
    changes: Mapping[str, Setting | list[str] | None] | None,
    path: Path,
    *table: str,
) -> str:
    """The file's text with some keys set or taken out (None), everything else (order, comments) as
    it was. `table` names the table of one project or account; `changes` of None take it out. What
    an earlier fleet wrote is put into today's words.
    """
    import tomlkit

    parse(text, path)
    document = here = tomlkit.parse(text)
    converted = earlier_keys.convert(document)
    if table:
        group, name = table
        tables = document.setdefault(group, tomlkit.table(is_super_table=True))
        if changes is None:
            del tables[name]
        else:
            here = tables.setdefault(name, tomlkit.table())
    for key, value in (changes or {}).items():
        if value is not None:
            here[key] = value
        elif key in here:
            del here[key]
    new = tomlkit.dumps(document)
    return earlier_keys.with_todays_comments(new, KEYS) if converted else new


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
    problem = earlier_keys.problem(name, value) or key.problem(value)
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
    if name in earlier_keys.GONE:
        raise BadInput(f"{name} {earlier_keys.GONE[name]}")
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


#: What each line of a new file is about; `fleet config show` says more.
_BRIEF = {
    "queue": "where tasks live: embedded, beads, or a postgresql:// address",
    "permissions": "what agents may do: edit, auto, bypass",
    "sandbox": "the box around agents: off, workspace, strict",
    "work_in": "where agents work in git: clone, directory",
    "land": "finished work of a clone: auto, ask, branch",
    "expect": "what a claim must show: change, any, answer, artifact:PATH, plan",
}


def default_text(**chosen: Setting) -> str:
    """A new runtime.toml with the settings that were chosen; all others have their defaults."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("fleet's settings. A running supervisor applies changes at once."))
    document.add(tomlkit.comment("All of them, with their meaning: fleet config show"))
    for name, value in chosen.items():
        item = tomlkit.item(value)
        if name in _BRIEF:
            item.comment(_BRIEF[name])
        document.add(name, item)
    return tomlkit.dumps(document)


def _refuse_contradictions(text: str, path: Path, settings: Config) -> None:
    """Raise ConfigError for settings that exclude each other, for all projects or for one."""
    work_in, box = settings.work_in, settings.sandbox
    _refuse(text, path, "work_in", contradiction(work_in, box, pins=False).removeprefix("work_in "))
    for name, project in settings.projects.items():
        own = {"work_in": work_in, "sandbox": box, **project.settings}
        wrong = contradiction(own["work_in"], own["sandbox"], pins=bool(project.pins))
        _refuse(text, path, project_tables.TABLE, wrong and f'"{name}": {wrong}')


def _refuse(text: str, path: Path, key: str, wrong: str, *, hint: str = "") -> None:
    """Raise ConfigError if something is wrong, with the line of a key, or of the table
    `[key."name"]` whose name the complaint begins with.
    """
    if not wrong:
        return
    named = re.match(r'"(.+?)": |([\w-]+): ', wrong)
    name = re.escape(named[1] or named[2]) if named else ""
    table = rf"^\s*\[\s*{re.escape(key)}\s*\.\s*[\"']?{name}[\"']?\s*\]"
    anywhere = rf"^\s*(?:\[+\s*)?[\"']?{re.escape(key)}\b"
    found = re.search(table, text, re.MULTILINE) or re.search(anywhere, text, re.MULTILINE)
    line = text.count("\n", 0, found.start() + len(found[0])) + 1 if found else 1
    raise ConfigError(f"{path}, line {line}: {key} {wrong}", hint=hint or f"Edit {path}.")
