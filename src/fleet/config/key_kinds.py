"""The kinds of values that keys of runtime.toml have: how each is read, and what is refused."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct, ValidationError, convert

from fleet.errors import BadInput
from fleet.schemas import units
from fleet.schemas.account import read_chain
from fleet.schemas.budget import NONE, read_budget
from fleet.schemas.hosts.host import check_label
from fleet.schemas.policy import (
    check_branch,
    check_expectation,
)

Setting = int | str
T = TypeVar("T", bound=Struct)

KeyKind = Literal[
    "text", "number", "span", "size", "dollars", "expectation", "budget", "chain", "names",
    "branch", "forge", "secret_place", "host", "labels",
]  # fmt: skip
#: The name of a variable.
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


def read_names(text: str) -> tuple[str, ...]:
    """Names of variables, separated by commas or blanks; `none`: no name. Raises BadInput."""
    names = tuple(text.replace(",", " ").split())
    if names == (NONE,):
        return ()
    for name in names:
        if not re.fullmatch(VARIABLE, name):
            raise BadInput(
                f"{name!r} is no name of a variable", hint="Write names, never values: NAME, OTHER"
            )
    return names


def read_labels(text: str) -> tuple[str, ...]:
    """Labels of a host, separated by commas or blanks; `none`: no label. Raises BadInput."""
    labels = tuple(text.replace(",", " ").split())
    return () if labels == (NONE,) else tuple(map(check_label, labels))


def read_forge(text: str) -> str:
    """`auto`, a kind of forge, or the address of a Gitea or Forgejo. Raises BadInput."""
    if text in ("auto", "github", "gitea") or re.fullmatch(r"https?://[^\s@?#]+", text):
        return text
    raise BadInput(
        f"{text!r} is no forge",
        hint="Write auto, github, gitea, or an address: https://git.example.org",
    )


def read_secret_place(text: str) -> str:
    """Where a secret is kept; empty for `none`. Raises BadInput, without repeating the text."""
    kind, _, rest = text.partition(":")
    good = {
        NONE: not rest,
        "env": bool(re.fullmatch(VARIABLE, rest)),
        "file": rest.startswith("/"),
        "keyring": all(rest.partition("/")),
    }
    if not good.get(kind):
        raise BadInput(
            "a setting says where a secret is, and never holds one",
            hint="Write env:NAME, file:/PATH or keyring:SERVICE/USER",
        )
    return "" if kind == NONE else text


def check_secret_places(places: Mapping[str, str]) -> None:
    """Raise BadInput for a setting of a table, by its name, that is no place of a secret."""
    for name, place in places.items():
        try:
            read_secret_place(place)
        except BadInput as error:
            raise BadInput(f"{name}: {error.message}: {error.hint}") from None


def read_table(
    name: str, table: object, kind: type[T], check: Callable[[T], None]
) -> tuple[T, str]:
    """A table of the file as a value, and what is wrong with the table; empty if nothing is.
    `check` raises BadInput for what a type cannot say.
    """
    if not isinstance(table, dict):
        return kind(), f"must be a table: [{name}]"
    try:
        found = convert(table, kind)
        check(found)
    except (ValidationError, BadInput) as error:
        return kind(), f"cannot be used: {error}".replace(" - at `$", f" at `{name}")
    return found, ""


#: How the text of a kind is read; the reader raises what is wrong with the text.
_READERS: Mapping[str, Callable[[str], Any]] = {
    "span": units.seconds,
    "size": units.size,
    "dollars": units.dollars,
    "expectation": check_expectation,
    "budget": read_budget,
    "chain": read_chain,
    "names": read_names,
    "branch": check_branch,
    "forge": read_forge,
    "secret_place": read_secret_place,
    "host": check_label,
    "labels": read_labels,
}


class Key(Struct, frozen=True):
    """One key of runtime.toml."""

    name: str
    default: Setting
    #: A sentence for the file's comment and for `fleet config show`.
    about: str = ""
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()
    kind: KeyKind = "text"
    #: A project may have its own value.
    per_project: bool = False

    def problem(self, value: object) -> str:
        """Why this value cannot be used; empty: a good value."""
        if value == self.default and type(value) is type(self.default):
            return ""  # as most keys of a new file: reading them compiles patterns, 1 ms in all
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
        try:
            self.read(value)
        except BadInput as error:
            return f"cannot be used: {error.message}. {error.hint}".rstrip()
        return ""

    def read(self, value: Setting) -> Any:
        """The value in fleet's units: seconds, bytes, dollars, a budget. Raises BadInput."""
        return _READERS[self.kind](str(value)) if self.kind in _READERS else value
