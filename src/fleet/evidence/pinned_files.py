"""Pinned files: verify commands use them as they were when the run began.

While the verify commands run, pinned files have their original content; afterwards they are as the
agent left them. The agent's copies are kept in the run's directory with a journal meanwhile, so
that no file is lost when the supervisor dies in between.
"""

import os
import shutil
import stat
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError
from fleet.files.json_record import JsonRecord
from fleet.git.git_command import Git
from fleet.git.own.own_repository import own_repository
from fleet.git.run_baseline import repository_of
from fleet.schemas import Base

FOLDER = "pins"
_JOURNAL = "journal.json"
_LIMIT = 30.0
_LINK = "120000"


class SetAside(Struct, frozen=True, kw_only=True):
    """One file of the agent's that is replaced while the verify commands run."""

    path: str
    #: The name of its copy in the folder; None: the agent had deleted the file.
    kept: str | None = None


_RECORD = JsonRecord(tuple[SetAside, ...], limit=4 << 20)


class Original(Struct, frozen=True, kw_only=True):
    """A pinned file as it was when the run began."""

    path: str
    mode: str
    blob: str


@contextmanager
def originals(
    base: Base | None, pins: Sequence[str], cwd: str, run_dir: Path
) -> Generator[tuple[str, ...]]:
    """Give pinned files their original content inside the block; yields those that differed."""
    folder = run_dir / FOLDER
    put_back(folder)
    if not pins:
        yield ()
        return
    moved = _swap(base, pins, cwd, run_dir)
    try:
        yield tuple(os.path.relpath(each.path, cwd) for each in moved)
    finally:
        put_back(folder)


def put_back(folder: Path) -> None:
    """Put the agent's files back, if a journal says that some are set aside."""
    moved = _RECORD.read(folder / _JOURNAL)
    if moved is None:
        return
    for each in moved:
        path = Path(each.path)
        if each.kept is None:
            path.unlink(missing_ok=True)
        elif os.path.lexists(kept := folder / each.kept):
            path.parent.mkdir(parents=True, exist_ok=True)
            _take(kept, path)
    (folder / _JOURNAL).unlink()


def _swap(base: Base | None, pins: Sequence[str], cwd: str, run_dir: Path) -> tuple[SetAside, ...]:
    folder = run_dir / FOLDER
    repo = repository_of(base) if base is not None else None
    if base is None or repo is None or not base.snapshot:
        why = base.trouble if base is not None and base.trouble else "there is no repository"
        raise FleetError(f"the files {', '.join(pins)} cannot be had as they were: {why}")
    git = Git(own_repository(run_dir.parents[3], repo), time.monotonic() + _LIMIT)
    inside = os.path.relpath(os.path.realpath(cwd), os.path.realpath(base.root))
    names = [os.path.normpath(f"{inside}/{pin}") for pin in pins]
    were = _were(git, base.snapshot, names)
    if not were:
        raise FleetError(f"{', '.join(pins)}: no such file when the run began")
    root = Path(base.root)
    changed = [each for each in were if _differs(git, root / each.path, each)]
    known = {each.path for each in were}
    new = [name for name in _listed(git, names) if name not in known]
    paths = [root / name for name in (*(each.path for each in changed), *new)]
    moved = tuple(
        SetAside(path=str(path), kept=str(number) if os.path.lexists(path) else None)
        for number, path in enumerate(paths)
    )
    if not moved:
        return ()
    folder.mkdir(mode=0o700, exist_ok=True)
    for each in moved:
        if each.kept is not None:  # a copy, so that nothing changes before the journal is written
            _copy(Path(each.path), folder / each.kept)
    _RECORD.write(folder / _JOURNAL, moved)
    for each in changed:
        _write(git, root / each.path, each)
    for name in new:
        (root / name).unlink(missing_ok=True)
    return moved


def _were(git: Git, commit: str, names: Sequence[str]) -> list[Original]:
    found: list[Original] = []
    for entry in git.ask("ls-tree", "-r", "-z", commit, "--", *names).split(b"\0"):
        head, _, path = entry.partition(b"\t")
        if path:
            mode, _, blob = head.decode().split(" ")
            found.append(Original(path=os.fsdecode(path), mode=mode, blob=blob))
    return found


def _listed(git: Git, names: Sequence[str]) -> list[str]:
    """The files that exist now, without those that git ignores."""
    ask = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *names)
    listed = {os.fsdecode(name) for name in git.ask(*ask).split(b"\0") if name}
    return sorted(name for name in listed if Path(git.repo.root, name).exists())


def _differs(git: Git, path: Path, was: Original) -> bool:
    try:
        about = path.lstat()
        if was.mode == _LINK:
            return not stat.S_ISLNK(about.st_mode) or os.fsencode(path.readlink()) != _blob(
                git, was
            )
        if not stat.S_ISREG(about.st_mode):
            return True
        if bool(about.st_mode & 0o100) != (was.mode == "100755"):
            return True
        return path.read_bytes() != _blob(git, was)
    except OSError:
        return True


def _blob(git: Git, was: Original) -> bytes:
    return git.ask("cat-file", "blob", was.blob)


def _write(git: Git, path: Path, was: Original) -> None:
    data = _blob(git, was)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove(path)
    if was.mode == _LINK:
        path.symlink_to(os.fsdecode(data))
        return
    path.write_bytes(data)
    path.chmod(0o755 if was.mode == "100755" else 0o644)


def _copy(path: Path, kept: Path) -> None:
    _remove(kept)
    if path.is_dir() and not path.is_symlink():
        shutil.copytree(path, kept, symlinks=True)
    else:
        shutil.copy2(path, kept, follow_symlinks=False)


def _take(kept: Path, path: Path) -> None:
    _remove(path)
    shutil.move(kept, path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
