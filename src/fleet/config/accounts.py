"""`[accounts.NAME]` in runtime.toml: logins and keys that fleet may use, never a secret."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, cast

from fleet.config.key_kinds import VARIABLE, Key, read_secret_place
from fleet.config.keys import KEYS
from fleet.errors import BadInput
from fleet.schemas.account import Account

TABLE = "accounts"

_TEXT = Key("coder", "")
_NAME = r"[a-z0-9][a-z0-9_-]{0,40}"
_SOURCES = "env:NAME, file:/PATH or keyring:SERVICE/USER"


def read(table: object, stop_at: int) -> tuple[dict[str, Account], str]:
    """The accounts of a file, and what is wrong with the table; empty if nothing is.

    `stop_at` is the reserve of accounts without one of their own.
    """
    if not isinstance(table, dict):
        return {}, "must be tables like [accounts.work]"
    found: dict[str, Account] = {}
    for name, body in cast("dict[str, Any]", table).items():
        wrong = _wrong(name, body)
        if wrong:
            return {}, wrong
        settings: dict[str, Any] = {"stop_at": stop_at, **body}
        found[name] = Account(name=name, **settings)
    return found, _clash(found)


def name_problem(name: str) -> str:
    """Why this is no name for an account; empty: a good name."""
    if re.fullmatch(_NAME, name):
        return ""
    return f"{name!r} is no name for an account: small letters, digits, - and _"


def problem(key: str, value: object) -> str:
    """Why this value of an account's key is refused; empty: a good value."""
    check = _CHECKS.get(key)
    if check is None:
        return f"is not a key of an account; known: {', '.join(_CHECKS)}"
    return check(value)


def _wrong(name: str, body: object) -> str:
    if wrong := name_problem(name):
        return wrong
    if not isinstance(body, dict):
        return f"must be tables like [accounts.{name}]"
    body = cast("dict[str, Any]", body)
    for key, value in body.items():
        if wrong := problem(key, value):
            return f"{name}: {key} {wrong}"
    if "coder" not in body:
        return f"{name}: has no coder"
    own = not body.get("directory") and not body.get("secret")
    if own and name != body["coder"]:
        return (
            f"{name}: has neither a directory nor a secret, so it would be your own login, which is"
            f" [{TABLE}.{body['coder']}]"
        )
    return ""


def _clash(accounts: Mapping[str, Account]) -> str:
    """Refuse one directory for two accounts, whose logins would overwrite each other's tokens."""
    seen: dict[str, str] = {}
    for account in accounts.values():
        if account.directory:
            place = os.path.realpath(account.directory)
            if place in seen:
                return f"{seen[place]} and {account.name} have one directory: {place}"
            seen[place] = account.name
    return ""


def _path(value: object) -> str:
    if wrong := _TEXT.problem(value):
        return wrong
    absolute = PurePath(str(value)).is_absolute() and ".." not in PurePath(str(value)).parts
    return "" if absolute else f"must be an absolute path, not {value!r}"


def _source(value: object) -> str:
    try:
        place = read_secret_place(value) if isinstance(value, str) and value.isprintable() else ""
    except BadInput:
        place = ""
    # The value may be the secret itself, put in the wrong place: the message does not repeat it.
    return "" if place else f"must say where the secret is, never hold it: {_SOURCES}"


def _variable(value: object) -> str:
    good = isinstance(value, str) and re.fullmatch(VARIABLE, value)
    return "" if good else "must be the name of a variable, never a secret"


def _truth(value: object) -> str:
    return "" if isinstance(value, bool) else f"must be true or false, not {value!r}"


_CHECKS: Mapping[str, Callable[[object], str]] = {
    "coder": _TEXT.problem,
    "directory": _path,
    "secret": _source,
    "variable": _variable,
    "weight": Key("weight", 1, low=0, high=1000).problem,
    "max_concurrent": Key("max_concurrent", 1, low=1, high=1000).problem,
    "stop_at": KEYS["stop_at"].problem,
    "day_budget": KEYS["day_budget"].problem,
    "enabled": _truth,
}
