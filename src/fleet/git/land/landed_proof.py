"""Proves that a line holds a candidate: by ancestry, or because a commit of the line brings the
same change.

A branch is deleted, and a task counts as landed, by such a proof alone. A commit on the line brings
the same change if folding the candidate onto its parent gives its tree, or if the two patches are
the same but for where they stand.
"""

import io
from typing import Literal

from fleet.git.commit_object import read_commit
from fleet.git.git_command import Git
from fleet.git.land.merge_trees import merge_commits
from fleet.git.refs import commit_of, is_ancestor, merge_base
from fleet.git.tree_difference import PATCH

#: How large a patch is compared.
_LARGEST = 64 << 20

#: What proves that a line holds a candidate; empty: nothing does.
LandedProof = Literal["ancestry", "patch", ""]


def prove_landed(git: Git, line: str, candidate: str, landed: str) -> LandedProof:
    """The proof that `line` holds `candidate`, which the commit `landed` is said to have brought.

    Raises GitFailed if the candidate is not there.
    """
    if is_ancestor(git, candidate, line):
        return "ancestry"
    read_commit(git, candidate)
    patch = _patch_id(git, merge_base(git, line, candidate), candidate)
    is_there = is_ancestor(git, landed, line) and _brings(git, landed, candidate, patch)
    return "patch" if is_there else ""


def _brings(git: Git, commit: str, candidate: str, patch: str) -> bool:
    """Whether the change from a commit's first parent to the commit is that of the candidate."""
    facts = read_commit(git, commit)
    if not facts.parents:
        return False
    parent = facts.parents[0]
    if patch and patch == _patch_id(git, parent, commit):
        return True
    return any(
        merge_commits(git, start, candidate) == facts.tree != read_commit(git, start).tree
        for start in filter(None, (parent, _chain_start(git, commit, candidate)))
    )


def _chain_start(git: Git, commit: str, candidate: str) -> str:
    """The parent of the commits that a rebase made of a candidate, of which this is the last."""
    count = git.line("rev-list", "--count", "--no-merges", candidate, f"^{commit}")
    return commit_of(git, f"{commit}~{count}") if count.isdigit() and count != "0" else ""


def _patch_id(git: Git, before: str, after: str) -> str:
    """What two patches have in common that differ only in where they stand; empty: no patch."""
    if not before:
        return ""
    out = io.BytesIO()
    if not git.write(out, _LARGEST, *PATCH, "--full-index", before, after):
        return ""
    return git.ask("patch-id", "--stable", feed=out.getvalue()).decode().partition(" ")[0]
