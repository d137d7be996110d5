"""Keys and values that an earlier fleet wrote into runtime.toml: what they mean today.

`convert` changes a parsed file, or a document that is about to be written, in place. It is the only
code that knows the earlier words.
"""

import re
from collections.abc import Mapping, MutableMapping
from typing import Any, cast

from fleet.config.key_kinds import Key

#: Keys that are gone, and what a person writes instead.
GONE = {
    "isolation": "is now work_in: work_in=clone (was isolation=clone) or work_in=directory",
    "verify_in": "is gone: verify commands run in a fresh checkout of a clone (work_in=clone), and"
    " in the directory where agents work there (work_in=directory)",
}
#: Values that are gone, by their key, and what took their place.
RENAMED = {
    "land": {"off": "branch"},
    "require": {"plausible": "approved"},
    "land_how": {"rebase": "merge"},
}

#: How the comment above a key began that an earlier fleet wrote.
_COMMENTS = {
    "Where agents work: none (": "",
    "Where verify commands run: checkout (": "",
    "What becomes of verified work in git: off (": "land",
    "The least that closes a task: plausible (": "require",
    "What a claim must have to show: any (": "expect",
}

_AnyTable = MutableMapping[str, Any]


def problem(name: str, value: object) -> str:
    """What a person writes instead of a key or a value that is gone; empty: neither is gone."""
    if name in GONE:
        return GONE[name]
    new = RENAMED.get(name, {}).get(str(value))
    return f"= {value} is now {name} = {new}" if new else ""


def convert(table: _AnyTable) -> tuple[str, ...]:
    """Replace the earlier keys and values of a file in place; what was replaced, in words.

    An earlier file without a key meant that key's default of then.
    """
    projects = _tables(table.get("projects"))
    said: list[str] = []
    if not any(map(_is_earlier, (table, *projects.values()))):
        for path, project in {"": table, **projects}.items():
            own = list[str]()
            _rename(project, own)
            said += [f"{path}: {words}" if path else words for words in own]
        return tuple(said)
    before = {name: table.get(name) for name in ("isolation", "land", "sandbox")}
    lands, boxed = before["land"] in ("ask", "auto"), before["sandbox"] in ("workspace", "strict")
    if "work_in" not in table:
        in_clone = before["isolation"] in ("clone", "worktree") or lands or boxed
        _set(table, "work_in", "clone" if in_clone else "directory", "isolation", said)
    table.setdefault("land", "off")
    table.setdefault("expect", "any")
    _rename(table, said)
    for path, project in projects.items():
        own: list[str] = []
        _convert_project(project, before, str(table["work_in"]), own)
        said += [f"{path}: {words}" for words in own]
    return tuple(said)


def _convert_project(
    project: _AnyTable, before: dict[str, Any], work_in: str, said: list[str]
) -> None:
    own = project.get("isolation")
    isolation = own or before["isolation"] or "none"
    land = project.get("land", before["land"])
    lands = land in ("ask", "auto") and own != "none"
    boxed = project.get("sandbox", before["sandbox"]) in ("workspace", "strict")
    # Pinned files are restored in a fresh checkout, which only a clone has.
    in_clone = isolation != "none" or lands or boxed or bool(project.get("pins"))
    found = "clone" if in_clone else "directory"
    if "work_in" not in project and (found != work_in or own is not None):
        _set(project, "work_in", found, "isolation", said)
    if in_clone and not lands and land in ("ask", "auto"):
        _set(project, "land", "branch", "land", said)
    _rename(project, said)


def _rename(table: _AnyTable, said: list[str]) -> None:
    for name, values in RENAMED.items():
        if (new := values.get(str(table.get(name)))) is not None:
            _set(table, name, new, name, said)
    for name in GONE:
        if name in table:
            if name != "isolation":
                said.append(f"{name} is gone")
            del table[name]


def _set(table: _AnyTable, name: str, value: str, earlier: str, said: list[str]) -> None:
    before = table.get(earlier)
    table[name] = value
    if before is not None:
        said.append(f"{earlier} = {before} is now {name} = {value}")
    else:
        said.append(f"{name} = {value}")


def _is_earlier(table: _AnyTable) -> bool:
    """The file is of a fleet that had other defaults."""
    names = (*GONE, *RENAMED.keys() - {"land_how"})
    return any(problem(name, table[name]) for name in names if name in table)


def _tables(found: object) -> dict[str, _AnyTable]:
    if not isinstance(found, MutableMapping):
        return {}
    tables = cast("MutableMapping[str, Any]", found)
    return {name: each for name, each in tables.items() if isinstance(each, MutableMapping)}


def with_todays_comments(text: str, keys: Mapping[str, Key]) -> str:
    """The text of a file without the comments of keys that are gone, and with today's comment above
    a key whose meaning changed.
    """
    for start, name in _COMMENTS.items():
        pattern = rf"^# {re.escape(start)}.*\n" + ("" if name else r"\n?")
        new = f"# {keys[name].about}\n" if name else ""
        text = re.sub(pattern, lambda _, new=new: new, text, flags=re.MULTILINE)
    return text
