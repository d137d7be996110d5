"""Where a branch stands that work lands on: tip, line, and the working trees of people that have
the branch checked out.

The line is what the next work is folded onto. It is the tip of the branch, or
`refs/fleet/land/<branch>` where that is ahead, because a working tree with the branch was in the
way when something landed. Working trees are read from files without git; one in the middle of a
rebase or a bisection counts for the branch that it goes back to, as it does for git.
"""

import os

from msgspec import Struct

from fleet.git.land.land_repository import LandRepository
from fleet.git.refs import OURS, is_ancestor
from fleet.git.repository import Repository, checked_out, read_bounded
from fleet.git.user_settings import known_settings

_LINES = f"{OURS}land/"
_HEADS = "refs/heads/"
#: Signs of what git has not finished, with the words for it.
_UNFINISHED = {
    "MERGE_HEAD": "a merge is not finished",
    "CHERRY_PICK_HEAD": "a cherry-pick is not finished",
    "REVERT_HEAD": "a revert is not finished",
    "rebase-merge": "a rebase is not finished",
    "rebase-apply": "a rebase is not finished",
    "sequencer": "a cherry-pick or revert is not finished",
    "BISECT_LOG": "a bisection is not finished",
}
#: Where git notes the branch that a detached tree goes back to.
_GOES_BACK = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")


class BranchCheckout(Struct, frozen=True, kw_only=True):
    """A person's working tree that has the branch checked out."""

    repo: Repository
    #: What git has not finished there, in words; empty: nothing.
    why: str = ""


class Target(Struct, frozen=True, kw_only=True):
    """Where a branch stands."""

    #: Without `refs/heads/`.
    branch: str
    #: The commit of the branch; empty: there is no such branch, or it has no commit.
    tip: str
    #: The commit that new work is folded onto.
    line: str
    #: The commit of `refs/fleet/land/<branch>`; empty: there is no such ref.
    held: str = ""
    #: The tip, if moved beside the line: the next train begins with merging the tip.
    beside: str = ""
    checkouts: tuple[BranchCheckout, ...] = ()
    #: The ref that the branch is another name of; fleet does not move such a branch.
    alias_of: str = ""

    @property
    def ref(self) -> str:
        return f"{_HEADS}{self.branch}"

    @property
    def line_ref(self) -> str:
        return f"{_LINES}{self.branch}"


def read_target(land: LandRepository, branch: str) -> Target:
    """Read where a branch and the branch's line stand. Raises GitFailed."""
    ask = "--format=%(refname)%00%(objectname)%00%(symref)"
    ref, line_ref = f"{_HEADS}{branch}", f"{_LINES}{branch}"
    found: dict[str, tuple[str, str]] = {}
    for line in land.refs.ask_patiently("for-each-ref", ask, ref, line_ref).splitlines():
        name, commit, alias = os.fsdecode(line).split("\0")
        found[name] = commit, alias
    tip, alias = found.get(ref, ("", ""))
    held, _ = found.get(line_ref, ("", ""))
    ahead = bool(held and tip) and not is_ancestor(land.git, held, tip)
    beside = tip if ahead and not is_ancestor(land.git, tip, held) else ""
    return Target(
        branch=branch,
        tip=tip,
        line=held if ahead else tip,
        held=held,
        beside=beside,
        checkouts=tuple(checkouts_of(land, branch)),
        alias_of=alias,
    )


def checkouts_of(land: LandRepository, branch: str) -> list[BranchCheckout]:
    """Every working tree of the repository that stands on a branch. Raises GitFailed."""
    found: list[BranchCheckout] = []
    for repo in trees_of(land):
        git_dir, root = repo.git_dir, repo.root
        if branch not in _branches(git_dir):
            continue
        if not os.path.isdir(root):  # noqa: PTH112
            if root and not os.path.lexists(f"{git_dir}/locked"):
                continue  # the worktree's directory is gone: git forgets the entry by itself
            why = "its files are not there"
        else:
            why = unfinished(git_dir)
        found.append(BranchCheckout(repo=repo, why=why))
    return found


def unfinished(git_dir: str) -> str:
    """What git has not finished in a working tree, in words; empty if nothing."""
    for name, words in _UNFINISHED.items():
        if os.path.lexists(f"{git_dir}/{name}"):
            return words
    return ""


def _branches(git_dir: str) -> set[str]:
    """The branches that a working tree stands on or goes back to, without `refs/heads/`."""
    found: set[str] = set()
    head = f"{git_dir}/HEAD"
    if os.path.islink(head):  # noqa: PTH114 - as git once made them
        found.add(os.readlink(head))  # noqa: PTH115
    else:
        found.add(checked_out(git_dir))
    for name in _GOES_BACK:
        text = read_bounded(f"{git_dir}/{name}")
        if text is not None:
            found.add(os.fsdecode(text).strip())
    return {name.removeprefix(_HEADS) for name in found}


def trees_of(land: LandRepository) -> list[Repository]:
    """Every working tree of the repository; the root is empty where not known."""
    common = land.repo.common_dir
    found = [] if (root := _main_root(land)) is None else [_tree(common, common, root)]
    try:
        names = sorted(os.listdir(f"{common}/worktrees"))  # noqa: PTH208
    except OSError:
        names = []
    for name in names:
        git_dir = f"{common}/worktrees/{name}"
        dot = os.fsdecode(read_bounded(f"{git_dir}/gitdir") or b"").rstrip("\n")
        place = os.path.normpath(os.path.join(git_dir, dot)) if dot else ""  # noqa: PTH118
        found.append(_tree(common, git_dir, os.path.dirname(place)))  # noqa: PTH120
    return found


def _tree(common: str, git_dir: str, root: str) -> Repository:
    return Repository(root=root, git_dir=git_dir, common_dir=common)


def _main_root(land: LandRepository) -> str | None:
    """The main working tree; None: the repository is bare; empty: the place is not known."""
    repo, common = land.repo, land.repo.common_dir
    settings = known_settings(land.common)
    if settings.get("core.bare", "").lower() in ("true", "yes", "on", "1"):
        return None
    if place := settings.get("core.worktree", ""):
        return os.path.realpath(os.path.join(common, place))  # noqa: PTH118
    if repo.git_dir == common:
        return repo.root
    return os.path.dirname(common) if os.path.basename(common) == ".git" else ""  # noqa: PTH119, PTH120
