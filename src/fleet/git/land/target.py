"""Where a branch stands that work lands on: tip, line, and the working trees of the branch.

The line is what the next work is folded onto. It is the tip of the branch, or
`refs/fleet/land/<branch>` where that is ahead, because a working tree with the branch was in the
way when something landed.
"""

import os

from msgspec import Struct

from fleet.git.land.branch_checkouts import BranchCheckout, checkouts_of
from fleet.git.land.land_repository import LandRepository
from fleet.git.refs import OURS, is_ancestor

_LINES = f"{OURS}land/"
_HEADS = "refs/heads/"


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
