"""How fleet is installed here: its optional parts, and the command that adds one of them."""

import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from shlex import join
from typing import Any

import fleet

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRAS = re.compile(r"\[([^\]]*)\]")
_EXTRA_OF = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
#: Installers that make an environment for each program, by the file that they keep in it.
_INSTALLERS = {
    "uv-receipt.toml": ("uv", "tool", "install"),
    "pipx_metadata.json": ("pipx", "install", "--force"),
}


def how_to_add(extra: str) -> str:
    """The command that adds an optional part: with the installer and from the source of this fleet,
    and with the parts that are there, since some installers drop what is not named.
    """
    own = distribution_of("fleet")
    parts = ",".join(sorted({extra, *(installed_extras(own) if own is not None else ())}))
    return join([*_installer(), *_source(own, parts)])


def _installer() -> tuple[str, ...]:
    for file, words in _INSTALLERS.items():
        if Path(sys.prefix, file).exists():
            return words
    if find_spec("pip") is None:
        return ("uv", "pip", "install", "--python", sys.executable)
    return (sys.executable, "-m", "pip", "install")


def _source(own: Distribution | None, parts: str) -> tuple[str, ...]:
    """The words that name fleet with these optional parts to an installer."""
    if own is None:  # started from a checkout
        return ("--editable", f"{Path(fleet.__file__).parents[2]}[{parts}]")
    origin: dict[str, Any] = json.loads(own.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return ("--editable", f"{str(origin['url']).removeprefix('file://')}[{parts}]")
    return (f"fleet[{parts}] @ {origin['url']}" if "url" in origin else f"fleet[{parts}]",)


def installed_extras(of: Distribution) -> set[str]:
    """The optional parts of which everything is installed."""
    every = of.metadata.get_all("Provides-Extra") or []
    return {name for name in every if _whole(of, name)}


def _whole(of: Distribution, extra: str) -> bool:
    return all(
        distribution_of(name) is not None for name, _, only in requirements(of) if only == extra
    )


def requirements(of: Distribution) -> Iterator[tuple[str, frozenset[str], str]]:
    """Each requirement: name, extras that are asked for, and the extra that asks."""
    for line in of.requires or []:
        text, _, marker = line.partition(";")
        name = _NAME.match(text.strip())
        if name is None:
            continue
        asked = _EXTRAS.search(text)
        more = frozenset(map(str.strip, asked[1].split(","))) if asked else frozenset[str]()
        only = _EXTRA_OF.search(marker)
        yield name[0], more, only[1] if only else ""


def distribution_of(name: str) -> Distribution | None:
    """What is installed under a name."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
