"""`fleet land --check`: which work would conflict with the branch, and which with other work.

Every fold is tried in fleet's own git directory and forgotten; no branch, file or record changes.
"""

import time
from collections.abc import Sequence

from msgspec import Struct

from fleet.control import Control
from fleet.control.landing.waiting_list import UnlandedWork
from fleet.errors import FleetError
from fleet.git import repository
from fleet.git.commit_words import message_of
from fleet.git.land.fold import Candidate, fold
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.target import read_target
from fleet.home import landing_json

_LIMIT = 300.0
#: With more candidates on one branch each is tried on the branch and on those before it that fit,
#: instead of with every other one.
_MOST_PAIRS = 30


class FoldConflict(Struct, frozen=True, kw_only=True):
    """Work that does not fit: with the branch, or with the work of another task."""

    id: str
    #: The other task; empty: the branch itself.
    other: str = ""
    into: str
    files: tuple[str, ...]


class CheckedFolds(Struct, frozen=True, kw_only=True):
    """What a dry run found."""

    #: The tasks that were tried.
    tried: tuple[str, ...] = ()
    conflicts: tuple[FoldConflict, ...] = ()
    #: Tasks that could not be tried, and why.
    untried: tuple[tuple[str, str], ...] = ()


def check_folds(fleet: Control, work: Sequence[UnlandedWork]) -> CheckedFolds:
    """Try each work on the branch, and each pair of works that go onto one branch."""
    tried: list[str] = []
    conflicts: list[FoldConflict] = []
    untried: list[tuple[str, str]] = []
    groups: dict[tuple[str, str], list[UnlandedWork]] = {}
    for each in work:
        if not each.tip:
            untried.append((each.id, "its work is not brought home yet"))
        else:
            groups.setdefault((each.repository, each.into), []).append(each)
    until = time.monotonic() + _LIMIT
    for (root, into), mine in groups.items():
        try:
            conflicts += _group(fleet, root, into, mine, until)
        except FleetError as error:
            untried += [(each.id, error.message) for each in mine]
        else:
            tried += [each.id for each in mine]
    return CheckedFolds(tried=tuple(tried), conflicts=tuple(conflicts), untried=tuple(untried))


def _group(
    fleet: Control, root: str, into: str, work: Sequence[UnlandedWork], until: float
) -> list[FoldConflict]:
    repo = repository.find(root)
    if repo is None:
        raise FleetError(f"{root} is no git repository any more")
    land = LandRepository(fleet.home.path, repo, until)
    target = read_target(land, into)
    if not target.line:
        raise FleetError(f"{root} has no branch {into}")
    found: list[FoldConflict] = []
    fitting: list[tuple[str, str]] = []
    pairs = len(work) <= _MOST_PAIRS
    onto = target.line
    for each in work:
        candidate = _candidate(fleet, each)
        alone = fold(land.git, target.line, candidate)
        if isinstance(alone, TreeConflict):
            found.append(FoldConflict(id=each.id, into=into, files=alone.files))
            continue
        for other, commit in fitting if pairs else [("others", onto)]:
            both = fold(land.git, commit, candidate)
            if isinstance(both, TreeConflict):
                found.append(FoldConflict(id=each.id, other=other, into=into, files=both.files))
            elif not pairs:
                onto = both.commit
        fitting.append((each.id, alone.commit))
    return found


def _candidate(fleet: Control, each: UnlandedWork) -> Candidate:
    landing = landing_json.read(fleet.home, each.id)
    how = landing.lands_as if landing is not None else "merge"
    return Candidate(
        task_id=each.id,
        commit=each.tip,
        message=message_of(each.title, each.id),
        how=how,
        base=landing.starts_from if landing is not None else "",
    )
