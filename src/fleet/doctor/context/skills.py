"""Skills, commands and agents on disk: of each a CLI loads the name and what it says of itself."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from fleet.coders import cli_files
from fleet.doctor.context.load import Kind, Load, Origin, Piece, digest, estimate

_READ = 64 << 10
_MOST = 500
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_LINE = re.compile(r"^(name|description):[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)


def skills(folder: Path, origin: Origin, prefix: str = "") -> Iterator[Piece]:
    """`<folder>/<name>/SKILL.md`."""
    for name in _names(folder):
        yield from _piece("skill", folder / name / "SKILL.md", name, origin, prefix)


def pages(kind: Kind, folder: Path, origin: Origin, prefix: str = "") -> Iterator[Piece]:
    """`<folder>/<name>.md`: commands or agents."""
    for name in _names(folder):
        if name.endswith(".md"):
            yield from _piece(kind, folder / name, name.removesuffix(".md"), origin, prefix)


def _piece(kind: Kind, path: Path, name: str, origin: Origin, prefix: str) -> Iterator[Piece]:
    content = cli_files.read(path, _READ)
    if content is None or content.problem:
        return
    found = _FRONT.match(content.text)
    said = dict(_LINE.findall(found[1])) if found else {}
    own_name = said.get("name", "").strip().strip("'\"") or name
    about = said.get("description", "")
    load = Load(
        kind=kind, name=f"{prefix}{own_name}", origin=origin, where=str(path),
        tokens=estimate(len(f"{prefix}{own_name}: {about}".encode())),
    )  # fmt: skip
    yield Piece(load=load, text=content.text, same=digest(content.text))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST]  # noqa: PTH208
    except (OSError, ValueError):
        return []
