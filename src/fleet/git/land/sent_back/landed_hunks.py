"""What others landed since a task's work began: the files, and the hunks in some of them."""

import io
from collections.abc import Sequence

from fleet.git.clone.task_refs import TaskRefs
from fleet.git.git_command import GitFailed
from fleet.git.repository import shown
from fleet.git.tree_difference import PATCH, changed_names
from fleet.schemas import BegunMerge

_CUT = "\n[the rest is cut: git diff shows it]\n"


def landed_hunks(refs: TaskRefs, merge: BegunMerge, files: Sequence[str], cap: int) -> str:
    """The diff of what landed in these files since the task's work began, cut after `cap` bytes.

    Empty if git cannot tell: the agent finds both sides in its clone.
    """
    if not files:
        return ""
    git, out = refs.git, io.BytesIO()
    try:
        base = git.line("merge-base", merge.own, merge.line)
        whole = git.write(out, cap, *PATCH, base, merge.line, "--", *files)
    except GitFailed:
        return ""
    text = out.getvalue().decode(errors="replace")
    return text if whole else text.rpartition("\n")[0] + _CUT


def landed_files(refs: TaskRefs, merge: BegunMerge) -> tuple[str, ...]:
    """The files that others changed on the line since the task's work began."""
    git = refs.git
    try:
        base = git.line("merge-base", merge.own, merge.line)
        return tuple(map(shown, changed_names(git, base, merge.line)))
    except GitFailed:
        return ()
