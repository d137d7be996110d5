"""Makes a clone of a linked worktree that an earlier version of fleet made, in the same place.

The files stay as they are; only `.git`, a file that pointed into the project, becomes a directory.
The new git directory is complete before the old link goes, so a process that dies in between costs
nothing.
"""

import os
import shutil
from pathlib import Path

from fleet.files.lenient_read import read
from fleet.git.clone.source_facts import make_git_dir
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.git_command import Git

#: What only a linked worktree has.
_LINKS = frozenset({"gitdir", "commondir", "locked", "index.lock", "HEAD.lock", "config.worktree"})


def linked_admin(git: Git, place: Path) -> Path | None:
    """What the project's repository keeps of a linked worktree at this place; None: nothing.

    The repository is asked, and not the file `.git` in the worktree, which an agent may write.
    """
    folder = Path(git.repo.common_dir, "worktrees")
    wanted = os.path.realpath(place)
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return None
    for name in names:
        found = read(folder / name / "gitdir", 1 << 12)
        text = os.fsdecode(found.data).strip() if found else ""
        if text.endswith("/.git") and os.path.realpath(text.removesuffix("/.git")) == wanted:
            return folder / name
    return None


def convert_worktree(refs: TaskRefs, admin: Path, place: Path, making: Path) -> bool:
    """Turn the linked worktree at `place` into a clone; False: a worktree with submodules stays
    linked.

    `making` is where the git directory is made.
    """
    if (admin / "modules").exists():
        return False
    git = refs.git
    commit = refs.latest()
    if commit:  # what an earlier version brought to the branch was the task's work
        git.ask("update-ref", "--no-deref", refs.tip_ref, commit)
    base = git.line("rev-parse", "--verify", f"{commit or refs.base_ref}^{{commit}}")
    make_git_dir(making, git, refs.branch_ref, base)
    for name in sorted(set(os.listdir(admin)) - _LINKS):  # noqa: PTH208
        _take_over(admin / name, making / name)
    (place / ".git").unlink()
    git.ask_patiently("worktree", "prune")
    making.rename(place / ".git")
    return True


def _take_over(source: Path, place: Path) -> None:
    """Copy what git knows of the worktree: HEAD, index, a merge or rebase that is half done."""
    if source.is_symlink():
        return
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True)
    elif source.is_file():
        shutil.copy2(source, place)
