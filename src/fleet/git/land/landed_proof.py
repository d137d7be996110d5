"""Proves that a line holds a candidate: by ancestry, or because a commit of the line brings the
same change.

A branch is deleted, and a task counts as landed, by such a proof alone. A commit on the line brings
the same change if folding the candidate onto its parent gives its tree, or if the two patches are
the same but for where they stand.
"""

import io
from typing import Literal

from msgspec import Struct

from fleet.git.commit_object import read_commit
from fleet.git.git_command import Git
from fleet.git.land.merge_trees import merge_commits
from fleet.git.refs import commit_of, is_ancestor, merge_base
from fleet.git.tree_difference import PATCH

#: How many commits of the line are looked through for the same change, and how large a patch is
#: compared.
_MOST_COMMITS = 500
_LARGEST = 64 << 20


class LandedProof(Struct, frozen=True, kw_only=True):
    """Why a line is known to hold a candidate."""

    kind: Literal["ancestry", "patch"]
    #: The commit of the line that brought the work; for ancestry the candidate itself.
    commit: str


def prove_landed(git: Git, line: str, candidate: str, landed: str = "") -> LandedProof | None:
    """The proof that `line` holds `candidate`; None: there is none. `landed` is the commit that is
    said to have brought it; without it the newest commits of the line are looked through.

    Raises GitFailed if the candidate is not there.
    """
    if is_ancestor(git, candidate, line):
        return LandedProof(kind="ancestry", commit=candidate)
    read_commit(git, candidate)
    patch = _patch_id(git, merge_base(git, line, candidate), candidate)
    for commit in [landed] if landed else _since(git, line, candidate):
        if is_ancestor(git, commit, line) and _brings(git, commit, candidate, patch):
            return LandedProof(kind="patch", commit=commit)
    return None


def _since(git: Git, line: str, candidate: str) -> list[str]:
    """The newest commits of the line that the candidate does not have."""
    ask = ("rev-list", "--first-parent", f"--max-count={_MOST_COMMITS}", line, f"^{candidate}")
    return git.ask(*ask).decode().split()


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
