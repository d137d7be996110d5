"""What verify commands leave in a clone that they ran in: put out of the way of the next agent.

A project may have its verify commands run in the run's own directory. What they build there is not
the agent's work, but would be committed with that, and land. So the files are put back as the run
left them. What stood in their place is kept in the clone's git directory, until the clone goes.
Files that git ignores stay.
"""

import os
import time
from pathlib import Path

from fleet.errors import FleetError
from fleet.git import tree_snapshot
from fleet.git.git_command import Git
from fleet.git.own.own_repository import known_repository
from fleet.git.run_baseline import repository_of
from fleet.git.snapshot_names import INDEX
from fleet.git.tree_difference import changed_names
from fleet.runs.run_directory import Run
from fleet.schemas import Base

_LIMIT = 60.0
#: In a clone's git directory, with a directory for each run.
FOLDER = "fleet-leavings"


def put_leavings_aside(run: Run, base: Base | None, tree: str) -> int:
    """Put the files of a run's clone back as the run left them, in `tree`; returns how many were.

    A run that worked in the project's directory itself is left alone: that is the user's.
    Raises FleetError and OSError.
    """
    home = run.home
    clone = os.path.realpath(home.clone(run.task_id))
    repo = repository_of(base) if base is not None else None
    if base is None or repo is None or not tree or base.root != clone:
        return 0
    own, until = known_repository(home.path, repo.root), time.monotonic() + _LIMIT
    with tree_snapshot.opened(own, repo, until, run.task_dir / INDEX) as (git, index):
        git.ask("read-tree", "--reset", tree)
        now = tree_snapshot.take_snapshot(git, shared=base.shared).id
        changed = list(map(os.fsdecode, changed_names(git, tree, now)))
        if changed:
            _move_away(Path(clone), changed, _place(Path(repo.git_dir), run.number))
            _restore(git, tree, changed, index)
    return len(changed)


def _place(git_dir: Path, run: int) -> Path:
    """A directory that is no link: an agent may have made one there."""
    place = git_dir / FOLDER / f"{run}-{os.urandom(3).hex()}"
    place.parent.mkdir(mode=0o700, exist_ok=True)
    if place.parent.is_symlink() or git_dir.is_symlink():
        raise FleetError(f"{place.parent} is a link; remove the link")
    place.mkdir(mode=0o700)
    return place


def _move_away(root: Path, names: list[str], place: Path) -> None:
    for name in names:
        if os.path.lexists(root / name) and not tree_snapshot.is_below_link(str(root), name):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).rename(place / name)


def _restore(git: Git, tree: str, names: list[str], index: Path) -> None:
    """Write the files that the tree has."""
    index.unlink(missing_ok=True)
    git.ask("read-tree", tree)
    listed = (
        git.ask("ls-files", "-z", "--", *names) if len(names) < 500 else git.ask("ls-files", "-z")
    )
    there = {os.fsdecode(name) for name in listed.split(b"\0") if name}.intersection(names)
    feed = b"".join(os.fsencode(name) + b"\0" for name in sorted(there))
    if feed:
        git.ask("checkout-index", "--force", "--quiet", "-z", "--stdin", feed=feed)
