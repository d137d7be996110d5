"""A verify command for a project, guessed from the files that say how tests are run.

The files are the project's, so a person reads the command before fleet takes it. Nothing is run.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.safe_read import read_bounded
from fleet.schemas import typed

_LARGEST = 1 << 20
_TARGET = re.compile(r"^(test|check)\s*:(?!=)", re.MULTILINE)
#: Virtual environments, by their usual names.
_ENVIRONMENTS = (".venv", "venv")
#: Directories of installed packages, and how the commands begin that need them.
_INSTALLED: Mapping[str, tuple[str, ...]] = {
    ".venv": (".venv/", "uv run", "poetry run"),
    "venv": ("venv/",),
    "node_modules": ("npm ", "pnpm ", "yarn "),
}
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
    #: What the command needs of the directory that git does not hold: `share` of the project.
    share: tuple[str, ...] = ()


def propose(folder: Path) -> Proposal | None:
    """The command of the first file that names one; None if no file does."""
    for name, read in _READERS:
        text = _text(folder / name)
        if text and (command := read(text, folder)):
            return Proposal(command=command, found_in=name, share=_shared(command, folder))
    return None


def _shared(command: str, folder: Path) -> tuple[str, ...]:
    """The directory of installed packages that a command needs and that is there."""
    for name, beginnings in _INSTALLED.items():
        if command.startswith(beginnings) and (folder / name).is_dir():
            return (name,)
    return ()


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
    return _pytest(text, folder)


def _pytest(text: str, folder: Path) -> str:
    """Pytest of the project's own environment, if there is one."""
    del text
    for name in _ENVIRONMENTS:
        if (folder / name / "bin/python").exists():
            return f"{name}/bin/python -m pytest -q"
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
    ("pytest.ini", _pytest),
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
