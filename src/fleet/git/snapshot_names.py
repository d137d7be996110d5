"""Names of what fleet keeps of the runs of a task: refs of snapshots, and files."""

from fleet.git.refs import BRANCHES, OURS
from fleet.home.clone_record import ref_word

DIFF = "diff.patch"
#: In the task's directory: the index at the start of the latest run. With it git need not read
#: every file at the end, and no flag that an agent sets in the repository's index hides a file.
INDEX = "base.index"
#: Of a snapshot's ref: what the run left, and what the snapshot of the start does not store.
AFTER = ".after"
LEFT = ".left"
#: The tree that was verified, where pinned files differed from what the run left.
CHECKED = ".checked"


def ref_of(key: str) -> str:
    """The ref of the snapshot of a run; the key is `<task>/<run>`."""
    task, _, run = key.partition("/")
    return f"{OURS}{ref_word(task)}/{run}"


def kept_ref(branch: str) -> str:
    """The ref that keeps the commits of a task's branch, `refs/heads/fleet/<task>`, once the branch
    is put away. The ref is deleted with the task's snapshots.
    """
    return f"{OURS}{branch.removeprefix(BRANCHES)}/branch"
