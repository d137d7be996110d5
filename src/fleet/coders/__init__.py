"""The registry of coders: fleet's own, and those that a user or a package adds.

Naming coders imports none of them: `fleet --help` must not pay for what it only lists.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.errors import BadInput

if TYPE_CHECKING:
    from fleet.coders.base import Coder, Options
    from fleet.coders.plugins import Source

#: One line a coder: the class, or where to find the class once needed.
_REGISTRY: "dict[str, type[Coder] | str]" = {
    "claude": "fleet.coders.claude:ClaudeCoder",
    "agy": "fleet.coders.agy:AgyCoder",
    "codex": "fleet.coders.codex:CodexCoder",
}

#: The added coders that were found since `found_once` began; None: each is looked for anew.
_FOUND: "ContextVar[dict[tuple[str, Path | None], type[Coder]] | None]" = ContextVar(
    "found", default=None
)


@contextmanager
def found_once() -> Generator[None]:
    """Inside, an added coder is looked for once: a start asks for the coder's class some seven
    times.
    """
    token = _FOUND.set({})
    try:
        yield
    finally:
        _FOUND.reset(token)


def names(home: Path | None = None) -> tuple[str, ...]:
    """Every coder that can be asked for: fleet's own first, then the others by name."""
    from fleet.coders import plugins

    return (*_REGISTRY, *sorted(set(plugins.find(home)) - set(_REGISTRY)))


def exists(name: str, home: Path | None = None) -> bool:
    """There is a coder of this name. Added coders are not looked for where fleet has one."""
    return name in _REGISTRY or name in names(home)


def origin(name: str, home: Path | None = None) -> str:
    """Where a coder comes from, for a person. Raises BadInput for an unknown name."""
    return "built in" if name in _REGISTRY else _added(name, home).where


def find(name: str, home: Path | None = None) -> "type[Coder]":
    """A coder's class. Raises BadInput for an unknown name and for a broken coder."""
    entry = _REGISTRY.get(name)
    if entry is not None:
        return _imported(entry) if isinstance(entry, str) else entry
    known = _FOUND.get()
    if known is not None and (name, home) in known:
        return known[name, home]
    from fleet.coders import plugins

    found = plugins.load(_added(name, home))
    if known is not None:
        known[name, home] = found
    return found


def check(name: str, home: Path | None = None) -> None:
    """Raise BadInput for an unknown name and for a broken coder. Imports none of fleet's own."""
    if name not in _REGISTRY:
        find(name, home)


def make(
    name: str,
    model: str | None = None,
    options: "Options | None" = None,
    home: Path | None = None,
    *,
    inherited: bool = False,
) -> "Coder":
    """A coder for one run.

    `model` is passed on as it is, unless it was `inherited` from the configuration and is
    another coder's: then the coder falls back to its own.
    """
    kind = find(name, home)
    wanted = kind.inherits(model) if model and inherited else model
    try:
        coder = kind(wanted) if wanted else kind()
    except TypeError as error:
        raise BadInput(f"coder {name} ({origin(name, home)}) cannot be made: {error}") from error
    if options is not None:
        coder.options = options
    return coder


def model_of(name: str, model: str, home: Path | None = None, *, inherited: bool) -> str:
    """The model that a run of this coder asks for; empty: the CLI chooses. Raises BadInput.

    `inherited`: the task did not choose `model` itself. No coder of fleet's own is imported.
    """
    if model and not inherited:
        return model
    if isinstance(_REGISTRY.get(name), str):
        from fleet.coders.model_names import BUILT_IN

        return BUILT_IN[name].inherit(model)
    return make(name, model, home=home, inherited=True).model


def problems(home: Path | None = None) -> dict[str, str]:
    """The added coders that cannot be used, and why. One broken file hides no other."""
    from fleet.coders import plugins

    broken: dict[str, str] = {}
    for name, source in plugins.find(home).items():
        if name in _REGISTRY:
            broken[name] = f"{source.where}: fleet has a coder of that name, which comes first"
            continue
        try:
            plugins.load(source)
        except BadInput as error:
            broken[name] = error.message
    return broken


def _imported(target: str) -> "type[Coder]":
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def _added(name: str, home: Path | None) -> "Source":
    from fleet.coders import plugins

    found = plugins.find(home).get(name)
    if found is not None:
        return found
    from difflib import get_close_matches

    known = names(home)
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise BadInput(f"unknown coder: {name}", hint=f"{hint}There is {', '.join(known)}.")
