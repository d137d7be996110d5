"""A verify command for a project, guessed from the files that say how tests are run.

The files are the project's, so a person reads the command before fleet takes it. Nothing is run.
"""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.safe_read import read_bounded
from fleet.schemas import typed

_LARGEST = 1 << 20
_TARGET = re.compile(r"^(test|check)\s*:(?!=)", re.MULTILINE)
#: What `npm init` writes where there is no test.
_NO_TEST = "no test specified"


class _Scripts(Struct, frozen=True):
    test: str = ""


class _Package(Struct, frozen=True):
    """The part of package.json that names commands."""

    scripts: _Scripts = _Scripts()


class Proposal(Struct, frozen=True, kw_only=True):
    """A command that would check the work in a project, and the file that names the command."""

    command: str
    found_in: str


def propose(folder: Path) -> Proposal | None:
    """The command of the first file that names one; None if no file does."""
    for name, read in _READERS:
        text = _text(folder / name)
        if text and (command := read(text, folder)):
            return Proposal(command=command, found_in=name)
    return None


def _make(text: str, folder: Path) -> str:
    del folder
    targets = {found[1] for found in _TARGET.finditer(text)}
    return "make test" if "test" in targets else "make check" if targets else ""


def _python(text: str, folder: Path) -> str:
    try:
        tomllib.loads(text)
    except ValueError:
        return ""
    if "pytest" not in text:
        return ""
    for lock, runner in (("uv.lock", "uv run "), ("poetry.lock", "poetry run ")):
        if (folder / lock).is_file():
            return f"{runner}pytest -q"
    return "python3 -m pytest -q"


def _node(text: str, folder: Path) -> str:
    try:
        test = typed.decode(text, _Package).scripts.test
    except ValueError:
        return ""
    if not test.strip() or _NO_TEST in test:
        return ""
    for lock, runner in (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")):
        if (folder / lock).is_file():
            return f"{runner} test"
    return "npm test"


def _cargo(text: str, folder: Path) -> str:
    del text, folder
    return "cargo test"


def _go(text: str, folder: Path) -> str:
    del text, folder
    return "go test ./..."


_READERS: tuple[tuple[str, Callable[[str, Path], str]], ...] = (
    ("Makefile", _make),
    ("pyproject.toml", _python),
    ("pytest.ini", lambda _text, _folder: "python3 -m pytest -q"),
    ("package.json", _node),
    ("Cargo.toml", _cargo),
    ("go.mod", _go),
)


def _text(path: Path) -> str:
    try:
        data = read_bounded(path, _LARGEST)
    except InvalidTask:
        return ""
    return (data or b"").decode(errors="replace")
