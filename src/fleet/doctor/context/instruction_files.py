"""Markdown that a CLI loads: rules with their imports, skills, commands and agents.

Of a skill, a command or an agent a CLI loads only the name and the description.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet.doctor.check_result import CheckResult
from fleet.doctor.context.load import Load, LoadKind, Origin, digest, estimate
from fleet.files import lenient_read

#: How many bytes of a file are read.
READ = 256 << 10
#: Bytes from which on a file of rules is worth a finding.
_HEAVY = 40_000
#: How deep claude follows imports, and how many files are read at most.
_DEPTH = 5
_MOST_RULES = 200
_MOST_NAMES = 500

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_IMPORT = re.compile(r"(?:^|\s)@(~?[\w./\-][^\s]*)")
_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(name|description):[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE)


class Rules:
    """Collects files of rules (CLAUDE.md, AGENTS.md) and their imports, each file once."""

    def __init__(self, user_home: Path) -> None:
        self.loads: list[Load] = []
        self.findings: list[CheckResult] = []
        self._home = user_home
        self._read: set[Path] = set()

    def add(
        self, path: Path, origin: Origin, *, imports: bool, importers: Sequence[Path] = ()
    ) -> bool:
        """Add a file, with imports if the CLI follows them. False if there is no such file."""
        content = lenient_read.read(path, READ)
        if content is None:
            return False
        real = Path(os.path.realpath(path))
        if content.problem:
            self._warn(f"{path} cannot be read: {content.problem}", "Mend it, or take it away.")
        elif real in importers:
            importer = importers[-1]
            what = f"{path} imports itself, by way of {importer}"
            self._warn(what, f"Take the @ out of {importer}.")
        elif real not in self._read and len(self.loads) < _MOST_RULES:
            self._read.add(real)
            tokens = estimate(content.size)
            load = Load(
                kind="rules", name=str(path), origin=origin, where=str(path), tokens=tokens,
                digest=digest(content),
            )  # fmt: skip
            self.loads.append(load)
            if content.size > _HEAVY:
                what = f"{path} holds about {tokens:,} tokens, which count at every turn"
                rest = "move the rest to a skill, or to files read on demand."
                self._warn(what, f"Keep what every task needs; {rest}")
            if imports and len(importers) < _DEPTH:
                for imported in self._imports(path, content.text):
                    self.add(imported, origin, imports=True, importers=(*importers, real))
        return True

    def _warn(self, what: str, fix: str) -> None:
        self.findings.append(CheckResult("context", "warning", what, fix))

    def _imports(self, path: Path, text: str) -> Iterator[Path]:
        for word in _IMPORT.findall(_CODE.sub(" ", text)):
            name = word.rstrip(".,;:)")
            if name.startswith("~/"):
                yield self._home / name[2:]
            elif "\0" not in name:
                yield path.parent / name


def parents(cwd: Path, *, in_repository: bool) -> list[Path]:
    """A directory and those above, the outermost first; or only those of the repository."""
    chain = [cwd, *cwd.parents]
    if in_repository:
        top = next((n for n, path in enumerate(chain) if os.path.exists(path / ".git")), 0)  # noqa: PTH110 - no error for an unreadable directory
        chain = chain[: top + 1]
    return chain[::-1]


def skills(folder: Path, origin: Origin, prefix: str = "") -> Iterator[Load]:
    """`<folder>/<name>/SKILL.md`."""
    for name in _names(folder):
        yield from _described("skill", folder / name / "SKILL.md", name, origin, prefix)


def pages(kind: LoadKind, folder: Path, origin: Origin, prefix: str = "") -> Iterator[Load]:
    """`<folder>/<name>.md`: commands, agents or rules."""
    for name in _names(folder):
        if name.endswith(".md"):
            yield from _described(kind, folder / name, name.removesuffix(".md"), origin, prefix)


def _described(
    kind: LoadKind, path: Path, name: str, origin: Origin, prefix: str
) -> Iterator[Load]:
    content = lenient_read.read(path, READ)
    if content is None or content.problem:
        return
    front = _FRONT_MATTER.match(content.text)
    fields = dict(_FIELD.findall(front[1])) if front else {}
    full_name = prefix + (fields.get("name", "").strip().strip("'\"") or name)
    loaded = f"{full_name}: {fields.get('description', '')}"
    yield Load(
        kind=kind, name=full_name, origin=origin, where=str(path),
        tokens=estimate(len(loaded.encode())), digest=digest(content),
    )  # fmt: skip


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST_NAMES]  # noqa: PTH208
    except (OSError, ValueError):
        return []
