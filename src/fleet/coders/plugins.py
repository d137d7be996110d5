"""Coders that are not fleet's own: files in $FLEET_HOME/coders, and installed packages.

Finding them reads a directory and package metadata, and runs nothing. Only `load` runs their
code, of files only if a person trusted them, and whatever that throws becomes a BadInput that names
the file.
"""

import importlib.util
import inspect
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Literal

from msgspec import Struct

from fleet.coders.base import Coder
from fleet.coders.prompts import TEMPLATES
from fleet.coders.trusted_files import is_coder_file, read_trusted, stamp
from fleet.errors import BadInput

GROUP = "fleet.coders"


class Source(Struct, frozen=True, kw_only=True):
    """A coder that can be loaded."""

    name: str
    kind: Literal["python", "toml", "package"]
    #: The file, or the package, as a person would name it.
    where: str
    #: The file, or what the entry point points at.
    target: str


def find(home: Path | None) -> dict[str, Source]:
    """The added coders by name. A file comes before a package of the same name."""
    found = dict(_packages())
    if home is not None:
        directory = f"{home}/coders"  # every run asks some times, and a Path costs more than a list
        with suppress(FileNotFoundError):  # no coder was added
            found |= _files(directory, tuple(sorted(os.listdir(directory))))  # noqa: PTH208
    return found


@lru_cache(maxsize=8)
def _files(directory: str, names: tuple[str, ...]) -> Mapping[str, Source]:
    """The coders in a directory with these files."""
    paths = (Path(directory, name) for name in names if is_coder_file(name))
    return {path.stem: _filed(path) for path in paths}


@cache
def _packages() -> Mapping[str, Source]:
    """The coders of installed packages; cached, as reading them opens a file of each package."""
    return {point.name: _packaged(point) for point in entry_points(group=GROUP)}


def _packaged(point: EntryPoint) -> Source:
    package = point.dist.name if point.dist else "?"
    return Source(name=point.name, kind="package", where=f"package {package}", target=point.value)


def _filed(path: Path) -> Source:
    kind = "toml" if path.suffix == ".toml" else "python"
    return Source(name=path.stem, kind=kind, where=str(path), target=str(path))


def load(source: Source) -> type[Coder]:
    """The class of an added coder. Raises BadInput, and nothing else, where it is broken."""
    try:
        if source.kind == "package":
            return _checked(source, EntryPoint(source.name, source.target, GROUP).load())
        return _from_file(source, stamp(source.target))
    except BadInput:
        raise
    except (Exception, SystemExit) as error:
        # A custom coder may raise anything, and must not end fleet.
        raise BadInput(
            f"coder {source.name} ({source.where}) does not load: {type(error).__name__}: {error}",
            hint="Correct the file, or move it away.",
        ) from error


@lru_cache(maxsize=64)
def _from_file(source: Source, changed: tuple[int, ...]) -> type[Coder]:
    """A file's class, loaded again when the file, or what is trusted, has changed."""
    del changed
    path = Path(source.target)
    data = read_trusted(path)
    if source.kind == "toml":
        from fleet.coders import toml

        return toml.load(path, data)
    _link_templates(path.parent.parent)
    return _checked(source, _class_in(_run(path, data), source))


def _link_templates(home: Path) -> None:
    """Link `templates` in the home to the package's, so that a Python file finds them from its own
    directory as the coders of the package do. What else has that name stays.
    """
    link = home / TEMPLATES.name
    with suppress(OSError):  # a home that cannot be written: the coder itself says what it misses
        if link.is_symlink() and link.readlink() != TEMPLATES:
            link.unlink()  # of an earlier installation
        if not os.path.lexists(link):
            link.symlink_to(TEMPLATES)


class _Trusted(SourceFileLoader):
    """Runs the very bytes that were compared with the digest: neither the file nor byte code
    beside it is read again.
    """

    def __init__(self, fullname: str, path: str, data: bytes) -> None:
        super().__init__(fullname, path)
        self._data = data

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._data, self.get_filename(fullname))


def _run(path: Path, data: bytes) -> ModuleType:
    name = f"fleet_home_coders.{path.stem}"
    spec = importlib.util.spec_from_loader(name, _Trusted(name, str(path), data))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # typed classes look their module up by name
    spec.loader.exec_module(module)
    return module


def _class_in(module: ModuleType, source: Source) -> Any:
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    coders = [value for value in own if issubclass(value, Coder) and not inspect.isabstract(value)]
    named = [coder for coder in coders if getattr(coder, "name", "") == source.name]
    if named:
        return named[0]
    if coders:
        other = getattr(coders[0], "name", "?")
        raise BadInput(f"{source.where} defines the coder {other}: call it {other}.py")
    raise BadInput(f"{source.where} defines no Coder that has all its methods")


def _checked(source: Source, value: Any) -> type[Coder]:
    if not (isinstance(value, type) and issubclass(value, Coder)):
        raise BadInput(f"coder {source.name} ({source.where}) is no Coder")
    limit = getattr(value, "context_limit", None)
    if not isinstance(limit, int) or limit <= 0:
        raise BadInput(f"coder {source.name} ({source.where}): context_limit has to be a number")
    return value
