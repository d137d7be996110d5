"""Files of rules (CLAUDE.md, AGENTS.md) and what they import: each once, and none too far."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet.coders import cli_files
from fleet.doctor.context.load import Load, Origin, Piece, digest, estimate
from fleet.doctor.finding import Finding

#: So much of a file is read for comparing; its cost is known by its size.
READ = 256 << 10
#: What a file may weigh before it is worth a word, in bytes.
HEAVY = 40_000
HEAVY_WORDS = " takes about "
#: claude follows imports so far.
_DEPTH = 5
_MOST = 200

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_IMPORT = re.compile(r"(?:^|\s)@(~?[\w./\-][^\s]*)")


class Rules:
    """Collects the files that a CLI reads, in its order."""

    def __init__(self, user_home: Path) -> None:
        self.pieces: list[Piece] = []
        self.findings: list[Finding] = []
        self._home = user_home
        self._seen: set[Path] = set()

    def add(self, path: Path, origin: Origin, *, imports: bool) -> bool:
        """A file with all that it imports. False if there is none."""
        return self._add(path, origin, (), imports=imports)

    def _add(self, path: Path, origin: Origin, above: Sequence[Path], *, imports: bool) -> bool:
        content = cli_files.read(path, READ)
        if content is None:
            return False
        if content.problem:
            what = f"{path} cannot be read: {content.problem}"
            self.findings.append(Finding("context", "warning", what, "Mend it, or take it away."))
            return True
        real = _real(path)
        if real in above:
            what = f"{path} imports itself, by way of {above[-1]}"
            self.findings.append(
                Finding("context", "warning", what, f"Take the @ out of {above[-1]}.")
            )
            return True
        if real in self._seen or len(self.pieces) >= _MOST:
            return True
        self._seen.add(real)
        load = Load(
            kind="rules", name=str(path), origin=origin, where=str(path),
            tokens=estimate(content.size),
        )  # fmt: skip
        self.pieces.append(Piece(load=load, text=content.text, same=digest(content.text)))
        if content.size > HEAVY:
            what = f"{path}{HEAVY_WORDS}{estimate(content.size):,} tokens at every turn"
            fix = (
                "Keep what every task needs; move the rest to a skill, or to files read on demand."
            )
            self.findings.append(Finding("context", "warning", what, fix))
        if imports and len(above) < _DEPTH:
            for found in self._imported(path, content.text):
                self._add(found, origin, (*above, real), imports=True)
        return True

    def _imported(self, path: Path, text: str) -> Iterator[Path]:
        for word in _IMPORT.findall(_CODE.sub(" ", text)):
            name = word.rstrip(".,;:)")
            if name.startswith("~/"):
                yield self._home / name[2:]
            elif "\0" not in name:
                yield path.parent / name


def above(cwd: Path, *, stop_at_top: bool) -> list[Path]:
    """The directories over one, the outermost first: from its repository's top on, or all."""
    chain = [cwd, *cwd.parents]
    if stop_at_top:
        top = next((n for n, path in enumerate(chain) if _is_there(path / ".git")), 0)
        chain = chain[: top + 1]
    return chain[::-1]


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path
