"""The commit with exactly the tree that was verified, whatever became of the clone since."""

from fleet.git.clone.collect_work import ClonedWork
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.commit_words import author_in, commit_tree, message_of
from fleet.git.refs import commit_of, tree_of


def candidate(cloned: ClonedWork, refs: TaskRefs, tree: str, title: str) -> str:
    """HEAD of the clone if that has the tree, else a commit on top that has: the one that was
    brought before, as other hosts know that one.
    """
    if tree_of(cloned.git, cloned.head) == tree:
        return cloned.head
    if (tip := commit_of(refs.git, refs.tip_ref)) and _is_made_of(refs, tip, tree, cloned.head):
        return tip
    message = message_of(title, refs.task_id)
    return commit_tree(
        cloned.git, tree, cloned.head, message=message, author=author_in(refs.git.repo)
    )


def _is_made_of(refs: TaskRefs, commit: str, tree: str, parent: str) -> bool:
    found = refs.git.ask("rev-parse", f"{commit}^{{tree}}", f"{commit}^@").decode().split()
    return found == [tree, parent]
