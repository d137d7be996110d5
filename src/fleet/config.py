"""`runtime.toml`: every key with its type, range and meaning, and the only code that reads or
writes the file. A broken file is an error with its place, never a default in disguise.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from fleet.errors import BadInput, ConfigError

FILE = "runtime.toml"

Setting = int | str
Permissions = Literal["edit", "auto", "bypass"]


class Key(Struct, frozen=True):
    """One key of runtime.toml."""

    name: str
    default: Setting
    #: A sentence for the file's comment and for `fleet config show`.
    about: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()

    def problem(self, value: object) -> str:
        """Why this value cannot be used; empty if it can."""
        if isinstance(self.default, int):
            if not isinstance(value, int) or isinstance(value, bool):
                return f"must be a whole number, not {value!r}"
            if not self.low <= value <= self.high:
                return f"must be between {self.low} and {self.high}, not {value}"
            return ""
        if not isinstance(value, str):
            return f"must be text in quotes, not {value!r}"
        if not value.strip():
            return "must not be empty"
        if self.choices and value not in self.choices:
            return f"must be one of {', '.join(self.choices)}, not {value!r}"
        if not value.isprintable():
            return "must be one line without control characters"
        return ""


KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key("max_concurrent", 3, "How many agents run at once.", low=1, high=1000),
        Key("coder", "claude", "The coder of tasks that do not name one."),
        Key("model", "sonnet", "The model of tasks that do not name one, as the coder calls it."),
        Key(
            "context_pressure_threshold_pct",
            90,
            "End a session once its context is this full (percent) and go on in a fresh one.",
            low=10,
            high=100,
        ),
        Key(
            "permissions",
            "edit",
            "What agents may do: edit (their directory, and the task's own commands), auto (the"
            " CLI judges each step), bypass (everything: only on a machine that is a sandbox).",
            choices=("edit", "auto", "bypass"),
        ),
        Key(
            "retry_limit",
            3,
            "How often a task is tried before it is blocked for a person to look at.",
            low=1,
            high=100,
        ),
        Key(
            "retry_wait_s",
            10,
            "How long a failed task waits before it is tried again, in seconds; doubled each time.",
            low=1,
            high=3600,
        ),
        Key(
            "grace_s",
            10,
            "How long a stopped agent has to end by itself before it is killed, in seconds.",
            low=0,
            high=600,
        ),
        Key(
            "queue",
            "embedded",
            "Where tasks live: embedded, beads, or a postgresql:// address.",
        ),
        Key(
            "busy_timeout_s",
            5,
            "Give up on a queue that another process keeps locked after this many seconds.",
            low=1,
            high=600,
        ),
        Key(
            "bd_timeout_s",
            30,
            "Stop a bd process that does not answer within this many seconds.",
            low=1,
            high=600,
        ),
    )
}


class Config(Struct, frozen=True, kw_only=True):
    """The settings in force. The fields are the keys of `KEYS`."""

    max_concurrent: int = 3
    coder: str = "claude"
    model: str = "sonnet"
    context_pressure_threshold_pct: int = 90
    permissions: Permissions = "edit"
    retry_limit: int = 3
    retry_wait_s: int = 10
    grace_s: int = 10
    queue: str = "embedded"
    busy_timeout_s: int = 5
    bd_timeout_s: int = 30


def load(path: Path) -> Config:
    """Read and check the whole file."""
    text = read_text(path)
    found = parse(text, path)
    for name, value in found.items():
        key = KEYS.get(name)
        problem = key.problem(value) if key else unknown(name)
        if problem:
            raise ConfigError(
                f"{path}, line {_line_of(text, name)}: {name} {problem}",
                hint=f"Edit the file, or: fleet config set {name}=…" if key else f"Edit {path}.",
            )
    return Config(**found)


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no {path}", hint="Run: fleet init") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = text.split("\n")
        end = f"at line {len(last)}, column {len(last[-1]) + 1}"
        raise ConfigError(
            f"{path} is not valid TOML: {str(error).replace('at end of document', end)}",
            hint="Mend that line: nothing runs on a guess. To see it: fleet config show --raw",
        ) from None


def unknown(name: str) -> str:
    """The complaint about a key that does not exist, with the nearest one that does."""
    from difflib import get_close_matches

    near = get_close_matches(name, KEYS, n=1)
    known = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(KEYS)}"
    return f"is not a key of fleet; {known}"


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


def changed(text: str, changes: Mapping[str, Setting], path: Path) -> str:
    """The file's text with some keys set, everything else (order, comments) as it was."""
    import tomlkit

    parse(text, path)
    document = tomlkit.parse(text)
    for name, value in changes.items():
        document[name] = value
    return tomlkit.dumps(document)


def default_text(**chosen: Setting) -> str:
    """A new runtime.toml: each key under a comment that says what it does."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("fleet's settings. A running supervisor applies changes at once."))
    for key in KEYS.values():
        document.add(tomlkit.nl())
        document.add(tomlkit.comment(key.about))
        document.add(key.name, tomlkit.item(chosen.get(key.name, key.default)))
    return tomlkit.dumps(document)


def _line_of(text: str, name: str) -> int:
    found = re.search(rf"^\s*(?:\[+\s*)?[\"']?{re.escape(name)}\b", text, re.MULTILINE)
    return text.count("\n", 0, found.start() + len(found[0])) + 1 if found else 1
