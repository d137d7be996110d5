"""`fleet task ID restore`: take back what a run did to files, from the snapshot of the run's start.

Only files of the working tree are touched: no branch, no index. A file that changed since the run
ended is later work and is kept, unless `force` is given.
"""

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from fleet.control import Control
from fleet.control.tasks.task_files import Missing, run_of, task_id_of
from fleet.errors import BadInput, FleetError, InvalidTask, Refused
from fleet.git import tree_snapshot
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.own_repository import own_repository
from fleet.git.refs import ELSEWHERE
from fleet.git.repository import Repository, shown
from fleet.git.run_baseline import AFTER, base_now, ref_of, repository_of
from fleet.processes import keeper_client
from fleet.runs import receipt_json
from fleet.runs.run_directory import Run
from fleet.schemas import Base

_LIMIT = 120.0

PathChange = Literal["restore", "remove", "keep", "leave", "same"]


class FileStep(Struct, frozen=True, kw_only=True):
    """What is to be done with one file."""

    path: str
    #: Restore the file; remove a file that the run added; keep a file that changed since the run
    #: ended; leave a file that the run added and that was not named; the file is the same already.
    act: PathChange


class RestorePlan(Struct, frozen=True, kw_only=True):
    """What is to be done with each file that a run changed, and where."""

    task_id: str
    run: Run
    base: Base
    steps: tuple[FileStep, ...]
    #: Commands that put back refs which are not where they were.
    refs: tuple[str, ...] = ()

    def of(self, act: PathChange) -> list[str]:
        return [step.path for step in self.steps if step.act == act]


def plan(
    fleet: Control,
    word: str,
    number: int | None = None,
    *,
    paths: Sequence[str] = (),
    force: bool = False,
) -> RestorePlan:
    """The changes of a run to the files below these paths, all by default, and which of them can be
    taken back. Changes nothing.
    """
    task_id = task_id_of(fleet, word)
    run = run_of(fleet.home.task(task_id), task_id, number)
    if run is not None and (doubt := run.spec_doubt()):
        raise InvalidTask(doubt, hint="No file that such a record names is touched.")
    base = run.spec().base if run is not None else None
    if run is None or base is None or not base.snapshot:
        why = base.trouble if base is not None else ""
        which = f"run {run.number} of {task_id}" if run is not None else task_id
        raise Missing(
            f"there is no snapshot of {which}{f': {why}' if why else ''}",
            hint="One is made when a run begins in a git repository.",
        )
    if keeper_client.is_alive(run) and not force:
        raise Refused(
            f"the agent of {task_id} is at work there",
            hint=f"Stop it first: fleet stop {task_id}. Or insist: --force",
        )
    repo = _repository(base, task_id)
    own = own_repository(fleet.home.path, repo)
    git = Git(own, time.monotonic() + _LIMIT)
    now = _tree_now(own, repo)
    ran, since = _differences(git, base, run, task_id, now)
    unlike = _between(git, base.snapshot, now)
    wanted = _below(base, paths)
    _refuse_unknown(base, wanted, ran)
    steps = [
        FileStep(path=path, act="same")
        if path not in unlike
        else FileStep(path=path, act=_act(path, kind, since, named=bool(paths), force=force))
        for path, kind in sorted(ran.items())
        if not wanted or any(_is_at(path, each) for each in wanted)
    ]
    return RestorePlan(
        task_id=task_id, run=run, base=base, steps=tuple(steps), refs=_moved(fleet, base)
    )


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def _refuse_unknown(base: Base, wanted: Sequence[str], ran: Iterable[str]) -> None:
    """Refuse a path that does not exist and that the run did not change."""
    known = tuple(ran)
    for place in wanted:
        if not os.path.lexists(Path(base.root, place)) and not any(
            _is_at(path, place) for path in known
        ):
            raise BadInput(
                f"there is no {Path(base.root, place)}, and the run changed no such file",
                hint="Paths count from the current directory.",
            )


def _differences(
    git: Git, base: Base, run: Run, task_id: str, now: str
) -> tuple[dict[str, str], dict[str, str]]:
    """What the run did to files, and what happened to those files after the run."""
    ref = f"{ref_of(f'{task_id}/{run.number}')}{AFTER}"
    if after := _commit(git, ref):
        return _between(git, base.snapshot, after), _between(git, after, now)
    receipt = receipt_json.read(run)
    changes = receipt.changes if receipt is not None else None
    if changes is not None and not changes.trouble:
        return {}, {}  # the run changed nothing, or there would be a ref of its end
    # The end of the run was never looked at: all changes since its start may be later work.
    found = _between(git, base.snapshot, now)
    return found, found


def carry_out(fleet: Control, found: RestorePlan) -> None:
    """Restore and remove files as planned. Raises GitFailed."""
    own = own_repository(fleet.home.path, _repository(found.base, found.run.task_id))
    back = found.of("restore")
    if back:
        with tree_snapshot.copied_index(own) as index:
            git = Git(own, time.monotonic() + _LIMIT, str(index))
            git.ask("read-tree", found.base.snapshot)
            feed = b"".join(os.fsencode(path) + b"\0" for path in back)
            git.ask("checkout-index", "--force", "-z", "--stdin", feed=feed)
    for path in found.of("remove"):
        place = Path(found.base.root, path)
        # A directory on the way may be a link by now, and what is behind it is not the run's.
        if place.parent.resolve() == place.parent:
            place.unlink(missing_ok=True)


def _act(path: str, kind: str, since: dict[str, str], *, named: bool, force: bool) -> PathChange:
    if path in since and not force:
        return "keep"
    if kind != "A":
        return "restore"
    return "remove" if named else "leave"


def _repository(base: Base, task_id: str) -> Repository:
    repo = repository_of(base)
    if repo is None:
        raise FleetError(
            f"{base.root} is no working tree any more",
            hint=f"Landed work is taken off its branch by: fleet land --revert {task_id}. The files"
            f" as they were are commit {base.snapshot}, below repositories in fleet's home.",
        )
    return repo


def _tree_now(own: Repository, repo: Repository) -> str:
    with tree_snapshot.opened(own, repo, time.monotonic() + _LIMIT) as (git, _):
        return tree_snapshot.take_snapshot(git).id


def _between(git: Git, before: str, after: str) -> dict[str, str]:
    """The files that differ between two trees, with A, D or M from the first to the second."""
    ask = ("diff-tree", "-r", "-z", "--no-renames", "--name-status", "--no-ext-diff")
    parts = git.ask(*ask, before, after).split(b"\0")
    return {
        os.fsdecode(path): kind.decode()
        for kind, path in zip(parts[::2], parts[1::2], strict=False)
        if path
    }


def _commit(git: Git, ref: str) -> str:
    try:
        return git.line("rev-parse", "--quiet", "--verify", f"{ref}^{{commit}}")
    except GitFailed:
        return ""


def _below(base: Base, paths: Sequence[str]) -> list[str]:
    """Paths from the current directory or the top of the tree, as paths in the repository."""
    found: list[str] = []
    for path in paths:
        place = os.path.relpath(os.path.normpath(Path(path).absolute()), base.root)
        if place == ".." or place.startswith("../"):
            place = os.path.normpath(path)  # from the top of the tree, as receipts name it
        if place == ".." or place.startswith(("../", "/")):
            raise BadInput(
                f"{path} is not in {base.root}", hint="Name files of the task's directory or clone."
            )
        found.append(place)
    return [] if "." in found else found


def _moved(fleet: Control, base: Base) -> tuple[str, ...]:
    """How to put back branches and tags that stood elsewhere."""
    now = base_now(base, fleet.home.path)
    stand = {**now.refs, **({now.branch: now.head} if now.branch else {})}
    return tuple(
        f"git update-ref {shown(name)} {commit}"
        for name, commit in sorted(base.refs.items())
        if not name.endswith("*")
        and not commit.startswith(ELSEWHERE)
        and stand.get(name, "").removeprefix(ELSEWHERE) != commit
    )
