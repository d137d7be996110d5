"""Check the types of `src`: all at first, later what a change since the last clean check may have
broken.

A change may break every module that imports the changed one, directly or through others: they are
checked with it. An added or removed module, other settings and other dependencies have everything
checked.

python -m tests.docs.check_types
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
STATE = ROOT / ".venv" / "checked-types.json"
_CHECKER = ROOT / ".venv" / "bin" / "basedpyright"
#: What the types of all modules depend on: the settings, and the moment of the last `make setup`.
_SETTINGS, _SET_UP = "pyproject.toml", ".venv/ready"
#: Fewer files are checked sooner by one thread: each thread reads the imported modules again.
_WORTH_THREADS = 60


def digests(root: Path) -> dict[str, str]:
    """A digest of each file that decides on types, by its path."""
    files = [root / _SETTINGS, *sorted((root / "src").rglob("*.py"))]
    found = {
        str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }
    return {_SET_UP: str((root / _SET_UP).stat().st_mtime_ns), **found}


def due(
    before: Mapping[str, str], now: Mapping[str, str], importers: Callable[[str], set[str]]
) -> set[str] | None:
    """The files to check after a check of `before` found nothing; None: all of them."""
    if before.keys() != now.keys() or any(
        before[each] != now[each] for each in (_SETTINGS, _SET_UP)
    ):
        return None
    changed = {file for file, digest in now.items() if before[file] != digest}
    return changed.union(*map(importers, changed))


def importers_in(root: Path) -> Callable[[str], set[str]]:
    """The files that import a file of `root/src/fleet`, directly or through others."""
    graph = grimp.build_graph("fleet", cache_dir=None)

    def importers(file: str) -> set[str]:
        name = ".".join(Path(file).relative_to("src").with_suffix("").parts)
        found = graph.find_downstream_modules(name.removesuffix(".__init__"))
        return {_file_of(root, module) for module in found}

    return importers


def _file_of(root: Path, module: str) -> str:
    path = Path("src", *module.split("."))
    return f"{path}/__init__.py" if (root / path).is_dir() else f"{path}.py"


def main() -> int:
    now = digests(ROOT)
    before = json.loads(STATE.read_text()) if STATE.exists() else {}
    files = due(before, now, importers_in(ROOT))
    if files == set():
        print("No types have changed.")
        return 0
    count = len(now) if files is None else len(files)
    threads = ["--threads", str(os.cpu_count() or 1)] if count > _WORTH_THREADS else []
    print(f"Checking the types of {count} files.", flush=True)
    done = subprocess.run([_CHECKER, *threads, *sorted(files or ())], cwd=ROOT)
    if done.returncode == 0:
        STATE.write_text(json.dumps(now))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
