"""Modules that call themselves pure are held to it by an import contract."""

import re
import tomllib
from pathlib import Path

from tests.docs.docstrings import SOURCE, docstrings

ROOT = Path(__file__).parents[2]
#: How a module's docstring calls the whole module pure.
PURE = re.compile(r"\bPure[.:]|\b[Oo]ne pure\b")
#: Pure without saying so: a tree of exceptions.
UNSAID = {"fleet.errors"}


def contract():
    """The import contract about pure modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (found,) = [each for each in contracts if each["name"].startswith("Pure modules")]
    return found


def pure_modules():
    """The modules and packages whose docstring calls them pure."""
    for each in docstrings():
        if each.of_module and PURE.search(each.text):
            parts = each.path.relative_to(SOURCE).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__")


def test_every_module_that_calls_itself_pure_is_under_the_contract():
    """By its own name, or by that of its package."""
    listed = contract()["source_modules"]
    missing = [
        name
        for name in pure_modules()
        if not any(name == each or name.startswith(f"{each}.") for each in listed)
    ]
    assert missing == []


def test_every_module_under_the_contract_calls_itself_pure():
    """A reader of the module learns what it may not do."""
    assert set(contract()["source_modules"]) - set(pure_modules()) == UNSAID


def test_the_contract_forbids_what_touches_the_world():
    """Files, processes, sockets, threads and the clock."""
    wanted = {"os", "subprocess", "socket", "time", "asyncio", "threading", "selectors"}
    assert wanted | {"shutil", "tempfile"} <= set(contract()["forbidden_modules"])
