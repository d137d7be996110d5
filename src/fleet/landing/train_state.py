"""What the parts of one train share: the branch, what is known of trees, and how the train stands.

What is known stands in one value, the content of `learnt.json`: a tree that passed or failed its
checks is not verified again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from msgspec import Struct, structs

from fleet.git.land.land_repository import LandRepository
from fleet.git.land.landed_proof import prove_landed
from fleet.git.land.move_line import Moved
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.landing import train_words
from fleet.landing.fold.fold_checks import CheckPlan, all_names, command_of, distinct
from fleet.landing.fold.verify_fold import clear, verify_fold
from fleet.landing.settle_landing import LandingSettler
from fleet.landing.train_store import FailedCheck, Train, TrainPlace
from fleet.landing.waiting_work import WaitingWork

#: Seconds for the git commands of one fold and move.
_LIMIT = 300.0
#: How often a fold is made anew, since the branch moved meanwhile.
RACES = 10


class TrainEnd(Struct, frozen=True, kw_only=True):
    """How a train ended."""

    #: More candidates wait than the batch had room for.
    more: bool = False
    #: Why the train was left, to be tried again later; empty: the train came to an end.
    left: str = ""
    #: Why the branch does not stand at the line; empty: the branch does.
    behind: str = ""
    #: What a person should know of the branch.
    sentences: tuple[str, ...] = ()
    #: Tasks whose pull request is watched, and in how many seconds the branch is looked at again:
    #: the forge is asked, or whether a line that failed by itself has moved.
    watched: tuple[str, ...] = ()
    again_in: float = 0.0


class ForPerson(Struct, frozen=True):
    """The train cannot go on before a person did something."""

    why: str


class Unproved(Struct, frozen=True, kw_only=True):
    """Whether the fold passes is not known."""

    #: Why its commands could not be run, through no fault of the work; empty: they were stopped.
    trouble: str = ""


class FoldProver:
    """What the trains of one branch have learnt; what is not known of a tree is verified."""

    def __init__(self, home: Home, repo: Repository, branch: str, abandon: threading.Event) -> None:
        self.home, self.repo, self.branch, self.abandon = home, repo, branch, abandon
        self.place = TrainPlace(home, repo.common_dir, branch)
        self.learnt = structs.replace(self.place.learnt(), repository=repo.root, branch=branch)

    def learn(self) -> None:
        """Remember for the next train what is known by now. Raises OSError."""
        self.place.learn(self.learnt)

    def note(self, **known: object) -> None:
        """Change what is known; the next call of `learn` remembers it."""
        self.learnt = structs.replace(self.learnt, **known)

    def note_behind(self, why: str) -> None:
        """Why the branch is behind its line; empty: the branch is not. Remembered at once: after a
        kill the branch would not follow before the next train. Raises OSError.
        """
        if why != self.learnt.behind:
            self.note(behind=why)
            self.learn()

    def credit(self, tree: str, checks: Iterable[str]) -> None:
        """A run's own verification counts."""
        self.learnt = self.learnt.with_passed(tree, checks)

    def passes(
        self,
        land: LandRepository,
        train: Train,
        plans: Sequence[CheckPlan],
        checks: tuple[str, ...],
    ) -> bool | Unproved:
        """Whether a train's fold passes these checks, which are some of the plans'. Raises
        FleetError and OSError.
        """
        if self.learnt.failing(train.tree, checks):
            return False
        missing = self.learnt.missing(train.tree, checks)
        if not missing:
            return True
        self.place.make()
        place = self.place.checkout(train.tree)
        clear(place.parent, keep=place)
        known = frozenset(all_names(plans)) - frozenset(missing)
        result = verify_fold(self.home, land, place, train, plans, known, self.abandon)
        if result is None or result.trouble:
            return Unproved(trouble=result.trouble if result is not None else "")
        self.learnt = self.learnt.with_passed(train.tree, result.passed)
        if not result.failed:
            return True
        failed = result.failed if result.failed in checks else missing[0]
        command = command_of(failed) if result.failed in checks else result.failed
        found = FailedCheck(check=failed, output=result.output, command=command)
        self.note(failed={**self.learnt.failed, train.tree: found})
        return False

    def line_passes(
        self, land: LandRepository, line: Train, plan: CheckPlan, check: str
    ) -> bool | Unproved:
        """Whether the line passes a check without any candidate; remembered until another line is
        asked about.
        """
        found = self.passes(land, line, [plan], (check,))
        known = self.learnt.red.get(line.tree, ())
        if found is False and check not in known:
            self.note(red={line.tree: (*known, check)})
        return found

    def forget_red(self) -> None:
        """Forget failures, as a person asked: the cause may be mended, outside of the tree."""
        self.note(failed={}, red={})

    def end_train(self) -> None:
        """End the train: remove the checkouts, and forget what failed, so that the same work is
        tried again if it comes again.
        """
        self.note(failed={})
        clear(self.place.verify)


class TrainState:
    """The state of one train, from the first look at the branch to the end."""

    def __init__(
        self,
        home: Home,
        repo: Repository,
        branch: str,
        settler: LandingSettler,
        *,
        abandon: threading.Event,
        now: Callable[[], datetime],
    ) -> None:
        self.home, self.repo, self.branch, self.settler = home, repo, branch, settler
        self.now = now
        self.prover = FoldProver(home, repo, branch, abandon)
        self.sentences: list[str] = []
        #: Why the train was left; and why a remote branch could not be read or moved for now.
        self.left = self.silence = ""

    def land(self, limit: float = _LIMIT) -> LandRepository:
        """The repository, for git commands that take `limit` seconds at most."""
        return LandRepository(self.home.path, self.repo, time.monotonic() + limit)

    def is_green(
        self, land: LandRepository, train: Train, part: Sequence[WaitingWork]
    ) -> bool | None:
        """Whether the fold passes all checks; None: the train was left."""
        if train.new == train.old:  # the line holds all of it already
            return True
        if train.members:
            self.prover.place.mean(train)
        plans = distinct([work.plan for work in part])
        return self.proved(self.prover.passes(land, train, plans, train.checks), part)

    def proved(self, found: bool | Unproved, part: Sequence[WaitingWork]) -> bool | None:
        """What the prover found; None: unknown, and the train was left. Raises OSError."""
        if not isinstance(found, Unproved):
            self.prover.learn()  # at once: a lander after a kill does not verify it again
            return found
        self.left = found.trouble or "it was stopped"
        if found.trouble:  # through no fault of the work: a person has to mend something
            for work in part:
                self.settler.ask(work, train_words.unverifiable(found.trouble, work.task_id))
        return None

    def mark(self, land: LandRepository, train: Train, works: Sequence[WaitingWork]) -> None:
        """The line holds these members: they have landed, or are ahead of the branch."""
        self.prover.note(share=self.prover.learnt.share.after(len(train.members), green=True))
        by_id = {work.task_id: work for work in works}
        for member in train.members:
            if (work := by_id.get(member.task_id)) is not None:
                proof = prove_landed(land.git, member.commit, member.candidate, member.commit)
                receipt = train_words.receipt(train, member, proof, self.now())
                self.settler.landed(work, receipt, self.prover.learnt.behind)

    def moved(self, moved: Moved) -> None:
        """The line has moved. Raises OSError."""
        self.prover.note_behind(moved.behind)

    def end(self, *, more: bool) -> TrainEnd:
        """How the train ended."""
        return TrainEnd(
            more=more and not self.left,
            left=self.left,
            behind=self.prover.learnt.behind,
            sentences=tuple(self.sentences),
        )
