"""How a person takes back what a run did in the project's own directory: git commands to copy.

fleet prints the commands and runs none of them: an agent may be at work in the directory, and would
have a writer with the operator's rights follow its links. Work in a clone needs no such command.
"""

import os
from shlex import join

from fleet.control import Control
from fleet.git.own.own_repository import known_repository
from fleet.git.refs import ELSEWHERE
from fleet.git.run_baseline import base_now
from fleet.git.snapshot_names import DIFF
from fleet.runs.run_directory import Run
from fleet.schemas import Base, Receipt


def undo_commands(fleet: Control, receipt: Receipt) -> tuple[str, ...]:
    """The commands that take back all changes of a run, that write single files as the run found
    them, and that put refs where they were. Empty for a run that changed nothing, or that worked in
    a clone.

    The first one changes nothing where a file differs from what the run left. The second one writes
    over what stands there: it is for lost files, and for binary files that no commit has.
    """
    run = Run(fleet.home.task(receipt.task_id) / "runs" / str(receipt.run))
    changes = receipt.changes
    base = run.spec().base if changes is not None and not run.spec_doubt() else None
    if base is None or changes is None or not base.snapshot or _is_clone(fleet, base):
        return ()
    found = [each.path for each in changes.files if each.kind != "added"]
    diff = run.path / DIFF
    moved = receipt.verdict is not None and any(
        finding.rule == "moved_refs" for finding in receipt.verdict.trespasses
    )
    return (
        *([join(["git", "-C", base.root, "apply", "-R", str(diff)])] if diff.exists() else []),
        *([_bring_back(fleet, base, found[0] if len(found) == 1 else "")] if found else []),
        *(_put_back(fleet, base) if moved else ()),
    )


def _is_clone(fleet: Control, base: Base) -> bool:
    return base.root.startswith(f"{os.path.realpath(fleet.home.worktrees)}{os.sep}")


def _bring_back(fleet: Control, base: Base, path: str) -> str:
    """The command that writes files of the snapshot of the run's start, in which the project's
    index takes no part.
    """
    own = known_repository(fleet.home.path, base.root)
    git = ["git", f"--git-dir={own.git_dir}", f"--work-tree={base.root}"]
    command = join([*git, "restore", f"--source={base.snapshot}", "--worktree", "--"])
    return f"{command} {join([path]) if path else 'FILE…'}"


def _put_back(fleet: Control, base: Base) -> list[str]:
    """The commands that put back branches and tags which are not where they were."""
    now = base_now(base, fleet.home.path)
    stand = {**now.refs, **({now.branch: now.head} if now.branch else {})}
    return [
        join(["git", "-C", base.root, "update-ref", name, commit])
        for name, commit in sorted(base.refs.items())
        if not name.endswith("*")
        and not commit.startswith(ELSEWHERE)
        and stand.get(name, "").removeprefix(ELSEWHERE) != commit
    ]
