"""The commit with exactly the tree that was verified, whatever became of the clone since."""

from fleet.git.clone.collect_work import ClonedWork
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.commit_words import author_in, commit_tree, message_of


def candidate(cloned: ClonedWork, refs: TaskRefs, tree: str, title: str) -> str:
    """HEAD of the clone if that has the tree, else a commit on top that has."""
    if cloned.git.line("rev-parse", f"{cloned.head}^{{tree}}") == tree:
        return cloned.head
    message = message_of(title, refs.task_id)
    return commit_tree(
        cloned.git, tree, cloned.head, message=message, author=author_in(refs.git.repo)
    )
