"""Where verify commands run: a fresh checkout of a clone's work, or the task's directory.

The checkout lies in the run's directory and is removed when the commands are done. Pinned files are
in it as the task's first run found them. Nothing of a person's is written, and what the commands
leave behind is no change of the agent's.
"""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, structs

from fleet.errors import FleetError
from fleet.evidence.verify_commands import VerifyPlace, checkout_place
from fleet.git import tree_snapshot
from fleet.git.checkout.fresh_checkout import is_made, make_checkout, remove_checkout
from fleet.git.checkout.pinned_tree import PinnedTree, pinned_tree
from fleet.git.git_command import Git
from fleet.git.own.own_repository import known_repository, stores_of
from fleet.git.own.project_refs import refs_of
from fleet.git.refs import read_refs
from fleet.git.repository import Repository
from fleet.git.run_baseline import repository_of
from fleet.git.snapshot_names import CHECKED, ref_of
from fleet.runs.outcome_history import believed_ending
from fleet.runs.run_directory import Run, all_runs
from fleet.schemas import Base, Changes, Policy

FOLDER = "checkout"
#: Seconds to write a large tree.
_LIMIT = 300.0
#: What projects commonly need of what git ignores.
USUAL = (".venv", "venv", "node_modules", "vendor", "target", ".env")


class InspectedRun(Struct, frozen=True, kw_only=True):
    """A run to inspect. Holds nothing that the loop changes."""

    run: Run
    cwd: str
    #: The directory that the task names; not that of the run, if the task has a worktree.
    task_cwd: str = ""
    policy: Policy
    base: Base | None
    #: The repository as the first attempt found it; pinned files are taken from there.
    first: Base | None = None
    #: The files that the agent's editing tools wrote, and the agent's commands, by the stream.
    edited: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    #: The agent claims completion, and its end says nothing against the work.
    claimed: bool

    @property
    def is_short(self) -> bool:
        """Nothing in the inspection takes time."""
        return self.base is None and not (self.claimed and self.policy.verify)

    @property
    def in_directory(self) -> bool:
        """The agent worked in the task's directory itself, and the verify commands run there."""
        return self.policy.work_in == "directory"


@contextmanager
def verify_place(ended: InspectedRun, changes: Changes | None) -> Generator[VerifyPlace]:
    """The place to verify in, for the time of the block. Raises FleetError if there is none."""
    if ended.base is None or ended.in_directory:
        _refuse_pins(ended)
        yield VerifyPlace(cwd=ended.cwd, root=ended.cwd)
        return
    folder = ended.run.path / FOLDER
    try:
        yield _checked_out(ended, ended.base, changes, folder)
    finally:
        remove_checkouts(folder)


def remove_checkouts(folder: Path) -> None:
    """Remove the checkouts of a run."""
    if folder.is_dir() and not folder.is_symlink():
        for name in os.listdir(folder):  # noqa: PTH208
            remove_checkout(folder / name)
        folder.rmdir()


def remove_left(task_dir: Path, *, is_over: bool) -> list[int]:
    """Remove the checkouts that a killed supervisor left; the numbers of their runs.

    A run whose ending is written is not verified again, and none of a task that `is_over`.
    """
    removed: list[int] = []
    for run in all_runs(task_dir):
        folder = run.path / FOLDER
        if folder.is_dir() and (is_over or believed_ending(run) is not None):
            remove_checkouts(folder)
            removed.append(run.number)
    return removed


def _refuse_pins(ended: InspectedRun) -> None:
    pins = ", ".join(ended.policy.pins)
    if pins and ended.base is None:
        raise FleetError(f"the files {pins} cannot be had as they were: there is no repository")
    if pins:
        raise FleetError(
            f"the files {pins} are pinned, and only a clone is verified in a fresh checkout",
            hint=f"Let it work in a clone: fleet bd update {ended.run.task_id} --work-in clone",
        )


def _checked_out(
    ended: InspectedRun, base: Base, changes: Changes | None, folder: Path
) -> VerifyPlace:
    repo = repository_of(base)
    if repo is None or changes is None or not changes.tree:
        why = (changes.trouble if changes is not None else "") or f"{base.root} is no repository"
        raise FleetError(f"there is no tree to verify: {why}")
    until = time.monotonic() + _LIMIT
    own = known_repository(ended.run.home.path, repo.root)
    git = Git(own, until)
    pinned = _pinned(ended, base, own, changes.tree, until)
    inside = os.path.relpath(os.path.realpath(ended.cwd), base.root)
    place = folder / pinned.id[:16]
    if not is_made(place):  # else a supervisor that died had begun to verify there
        remove_checkouts(folder)
        folder.mkdir(mode=0o700)
        refs = read_refs(refs_of(own, repo, until), repo)
        make_checkout(git, pinned.id, place, Base(root="", head=refs.head, branch=refs.branch))
    if pinned.restored:
        key = f"{ended.run.task_id}/{ended.run.number}"
        git.ask("update-ref", "--no-deref", f"{ref_of(key)}{CHECKED}", pinned.id)
    source, project = _project(ended, inside)
    found = checkout_place(
        place, tree=pinned.id, top=source, inside=inside, project=project,
        share=ended.policy.copies.share, stores=stores_of(own),
    )  # fmt: skip
    return structs.replace(
        found,
        restored=tuple(os.path.relpath(path, inside) for path in pinned.restored),
        lacks=lacking(project, found.copy),
    )


def _pinned(
    ended: InspectedRun, base: Base, own: Repository, tree: str, until: float
) -> PinnedTree:
    """The tree to verify, with pinned files from the base of the task's first run."""
    pins = ended.policy.pins
    if not pins:
        return PinnedTree(id=tree, restored=())
    names = _pins(ended, os.path.relpath(os.path.realpath(ended.cwd), base.root))
    first = ended.first if ended.first is not None and ended.first.root == base.root else base
    with tree_snapshot.copied_index(own) as index:
        found = pinned_tree(Git(own, until, str(index)), tree, first.snapshot, names)
    if found is None:
        raise FleetError(f"{', '.join(pins)}: no such file when the run began")
    return found


def _pins(ended: InspectedRun, inside: str) -> list[str]:
    """The pinned paths, from the top of the tree."""
    return [os.path.normpath(f"{inside}/{pin}") for pin in ended.policy.pins]


def _project(ended: InspectedRun, inside: str) -> tuple[str, str]:
    """The tree that the task's directory lies in, and the project's directory there."""
    source = os.path.realpath(ended.task_cwd or ended.cwd)
    for _ in Path(inside).parts:
        source = os.path.dirname(source)  # noqa: PTH120
    project = os.path.realpath(ended.policy.copies.project or source)
    if project != source and not project.startswith(f"{source}/"):
        project = source  # the directory holds more than the repository
    return source, project


def lacking(project: str, copy: str) -> tuple[str, ...]:
    """What projects commonly need that the project's directory has and a checkout has not."""
    return tuple(
        name
        for name in USUAL
        if os.path.lexists(f"{project}/{name}") and not os.path.lexists(f"{copy}/{name}")
    )
