"""What is known of trees: which checks passed or failed on each. What is not known is verified."""

import threading
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fleet.git.land.land_repository import LandRepository
from fleet.home import Home
from fleet.landing.fold.fold_checks import CheckPlan, all_names, command_of
from fleet.landing.fold.verify_fold import Fold, clear, verify_fold
from fleet.landing.train_rules import Proofs
from fleet.landing.train_store import FailedCheck, Learnt, TrainPlace


class Unproved(Struct, frozen=True, kw_only=True):
    """Whether the fold passes is not known."""

    #: Why its commands could not be run, through no fault of the work; empty: they were stopped.
    trouble: str = ""


class FoldProver:
    """Proves folds of one branch, and remembers the results by tree."""

    def __init__(
        self, home: Home, place: TrainPlace, learnt: Learnt, abandon: threading.Event
    ) -> None:
        self._home, self._place, self._abandon = home, place, abandon
        self._proofs: Proofs = learnt.proofs
        self._red_lines = dict(learnt.red)
        #: What failed in this train, by tree.
        self._failed = dict(learnt.failed)

    @property
    def passed(self) -> Mapping[str, frozenset[str]]:
        return self._proofs.passed

    @property
    def failed(self) -> Mapping[str, FailedCheck]:
        return self._failed

    @property
    def red_lines(self) -> dict[str, tuple[str, ...]]:
        """The last line that failed without a candidate: the tree, and the checks that failed."""
        return self._red_lines

    def credit(self, tree: str, checks: Iterable[str]) -> None:
        """A run's own verification counts."""
        self._proofs = self._proofs.green(tree, checks)

    def passes(
        self,
        land: LandRepository,
        fold: Fold,
        plans: Sequence[CheckPlan],
        checks: tuple[str, ...],
    ) -> bool | Unproved:
        """Whether a fold passes these checks, which are some of the plans'. Raises FleetError and
        OSError.
        """
        if self._proofs.is_red(fold.tree, checks):
            return False
        missing = self._proofs.missing(fold.tree, checks)
        if not missing:
            return True
        place = self._place.checkout(fold.tree)
        clear(place.parent, keep=place)
        known = frozenset(all_names(plans)) - frozenset(missing)
        result = verify_fold(self._home, land, place, fold, plans, known, self._abandon)
        if result is None or result.trouble:
            return Unproved(trouble=result.trouble if result is not None else "")
        self._proofs = self._proofs.green(fold.tree, result.passed)
        if not result.failed:
            return True
        failed = result.failed if result.failed in checks else missing[0]
        self._proofs = self._proofs.red(fold.tree, failed)
        command = command_of(failed) if result.failed in checks else result.failed
        self._failed[fold.tree] = FailedCheck(check=failed, output=result.output, command=command)
        return False

    def line_passes(
        self, land: LandRepository, line: Fold, plan: CheckPlan, check: str
    ) -> bool | Unproved:
        """Whether the line passes a check without any candidate; remembered until another line is
        asked about.
        """
        found = self.passes(land, line, [plan], (check,))
        if found is False:
            self._red_lines = {line.tree: (*self._red_lines.get(line.tree, ()), check)}
        return found

    def failing(self, tree: str, checks: Sequence[str]) -> str:
        """The check that failed on a tree."""
        return self._proofs.failing(tree, checks)

    def command(self, *trees: str) -> str:
        """The command that failed on the first of these trees that failed in this train."""
        return next((self._failed[each].command for each in trees if each in self._failed), "")

    def output(self, tree: str) -> str:
        """The end of what the check that failed on a tree printed."""
        return self._failed[tree].output if tree in self._failed else ""

    def forget_red(self) -> None:
        """Forget failures, as a person asked: the cause may be mended, outside of the tree."""
        self._proofs = Proofs(self._proofs.passed)
        self._red_lines, self._failed = {}, {}

    def end_train(self) -> None:
        """End the train: remove the checkouts, and forget what failed, so that the same work is
        tried again if it comes again.
        """
        self._failed = {}
        clear(self._place.verify)
