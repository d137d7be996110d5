"""A coder that is a TOML file: for a CLI that prints JSON lines, without a line of Python."""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

import msgspec
from msgspec import Struct, field

from fleet.coders.base import Coder, Permissions
from fleet.coders.login import Login
from fleet.coders.state_layout import StateLayout
from fleet.coders.stream import json_line
from fleet.coders.toml.event_rules import EventRule, RuleReader
from fleet.errors import BadInput
from fleet.schemas import Context, Event, Reason, Task, typed
from fleet.schemas.policy import CONTEXTS

#: What may stand in braces in `argv` and `[env]`.
PLACES = (
    "model", "prompt", "prompt_file", "cwd", "task_id", "task_dir", "artifacts_dir",
    "spool_dir", "resume", "permissions", "context",
)  # fmt: skip
_PLACE = re.compile(r"\{([a-z_]+)\}")
#: What refresh tokens are called in login files.
_REFRESH = re.compile("refresh", re.IGNORECASE)


class StateTable(StateLayout, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of the CLI's state directory."""

    #: Where it is below the user's home, if `state_variable` is not set.
    folder: str = ""
    #: The JSON file of a login in it.
    login_file: str = ""


class CoderFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of the file."""

    #: The command. A list inside it is left out where one of its places is empty.
    argv: list[str | list[str]]
    prompt: Literal["argv", "stdin", "file"] = "argv"
    context_limit: int = 128_000
    default_model: str = ""
    credentials: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    #: The arguments that make the program print its version; empty: it is not asked.
    version_args: tuple[str, ...] = ()
    #: The variables that keep accounts apart: one for the CLI's state, one for a token or key.
    state_variable: str = ""
    secret_variable: str = ""
    state: StateTable = StateTable()
    env: dict[str, str] = field(default_factory=dict[str, str])
    permissions: dict[Permissions, list[str]] = field(default_factory=dict[Permissions, list[str]])
    context: dict[Context, list[str]] = field(default_factory=dict[Context, list[str]])
    exits: dict[str, Reason] = field(default_factory=dict[str, Reason])
    event: list[EventRule] = field(default_factory=list[EventRule])


def load(path: Path, data: bytes | None = None) -> type[Coder]:
    """The coder class that a TOML file declares, under the file's own name.

    `data` is the file's content, where it was read before.
    """
    try:
        table = msgspec.toml.decode(path.read_bytes() if data is None else data)
        spec = typed.convert(table, CoderFile)
    except (OSError, ValueError) as error:
        raise BadInput(f"coder {path.stem}: {path}: {error}") from error
    _check(path, spec)
    exits = {int(code): reason for code, reason in spec.exits.items()}
    members: dict[str, Any] = {
        "spec": spec,
        "name": path.stem,
        "context_limit": spec.context_limit,
        "program": spec.argv[0],
        "default_model": spec.default_model,
        "credentials": spec.credentials,
        "passes": spec.passes,
        "version_args": spec.version_args,
        "state_variable": spec.state_variable,
        "secret_variable": spec.secret_variable,
        "state_folder": spec.state.folder,
        "login_file": spec.state.login_file,
        "state_layout": spec.state,
        "contexts": tuple(name for name in CONTEXTS if name == "full" or name in spec.context),
        "prompt_on_stdin": spec.prompt == "stdin",
        "prints_ending": any(rule.terminal == "success" for rule in spec.event),
        "can_resume": "{resume}" in str(spec.argv),
        "shows_tools": any(rule.call is not None for rule in spec.event),
        "exit_reasons": MappingProxyType(exits),
    }
    return type(f"Declared_{path.stem}", (DeclaredCoder,), members)


def _check(path: Path, spec: CoderFile) -> None:
    def broken(message: str) -> BadInput:
        return BadInput(f"coder {path.stem}: {path}: {message}")

    if not spec.argv or not isinstance(spec.argv[0], str):
        raise broken("argv has to begin with a program")
    if not all(code.isdecimal() for code in spec.exits):
        raise broken("[exits] takes exit codes: numbers")
    words = [*_flat(spec.argv), *spec.env.values()]
    unknown = {name for word in words for name in _PLACE.findall(word)} - set(PLACES)
    if unknown:
        raise broken(f"no such place: {', '.join(sorted(unknown))}; there is {', '.join(PLACES)}")
    if spec.prompt == "argv" and not any("{prompt}" in word for word in words):
        raise broken('argv has no {prompt}; or say prompt = "stdin" or "file"')
    if spec.prompt == "file" and not any("{prompt_file}" in word for word in words):
        raise broken("argv has no {prompt_file}")


def _flat(argv: list[str | list[str]]) -> list[str]:
    return [word for part in argv for word in ([part] if isinstance(part, str) else part)]


class DeclaredCoder(Coder):
    """The base of all TOML coders; `load` makes a class for each file."""

    spec: ClassVar[CoderFile]

    def build_argv(self, task: Task, task_dir: Path) -> list[str]:
        places = self._places(task, task_dir)
        argv: list[str] = []
        for part in self.spec.argv:
            if part == "{permissions}":
                argv += self.spec.permissions.get(self.options.permissions, [])
            elif part == "{context}":
                argv += self.spec.context.get(self.options.context, [])
            elif isinstance(part, str):
                argv.append(_filled(part, places))
            elif all(places[name] for word in part for name in _PLACE.findall(word)):
                argv += [_filled(word, places) for word in part]
        return argv

    def env(self, task: Task, task_dir: Path) -> dict[str, str]:
        places = self._places(task, task_dir)
        own = {name: _filled(value, places) for name, value in self.spec.env.items()}
        return {**own, **super().env(task, task_dir)}

    @classmethod
    def read_login(cls, data: bytes) -> Login | None:
        """The login without anything that is named like a refresh token."""
        line = json_line.decode(data.decode(errors="replace"))
        return Login(boxed=json.dumps(_without_refresh(line)).encode()) if line else None

    def _places(self, task: Task, task_dir: Path) -> dict[str, str]:
        return {
            "model": self.model,
            "prompt": self.prompt(task, task_dir) if self._tells_in_words else "",
            "prompt_file": str(self.prompt_file(task_dir)),
            "cwd": task.cwd or "",
            "task_id": task.id,
            "task_dir": str(task_dir),
            "artifacts_dir": str(task_dir / "artifacts"),
            "spool_dir": self.options.spool,
            "resume": self.options.resume or "",
            "permissions": self.options.permissions,
            "context": self.options.context,
        }

    @cached_property
    def _tells_in_words(self) -> bool:
        """A word of the command or of the environment holds `{prompt}`."""
        return any("{prompt}" in word for word in (*_flat(self.spec.argv), *self.spec.env.values()))

    @cached_property
    def _readers(self) -> list[RuleReader]:
        return [RuleReader(rule) for rule in self.spec.event]

    def normalize_event(self, raw_line: str) -> Event | None:
        line = json_line.decode(raw_line)
        if line is None:
            return json_line.bad(raw_line)
        for reader in self._readers:
            if reader.fits(line):
                return reader.event(line)
        return None


def _without_refresh(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_refresh(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    named = cast("dict[str, Any]", value)
    return {name: "" if _REFRESH.search(name) else _without_refresh(named[name]) for name in named}


def _filled(word: str, places: Mapping[str, str]) -> str:
    """One pass, so that braces in a prompt stay what they are."""
    return _PLACE.sub(lambda found: places[found[1]], word)
