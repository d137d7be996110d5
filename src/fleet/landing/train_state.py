"""What the parts of one train share: the branch, what is known of trees, and how
the train stands.
"""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from fleet.git.land.land_repository import LandRepository
from fleet.git.land.landed_proof import prove_landed
from fleet.git.land.move_line import Moved
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.landing import train_words
from fleet.landing.fold.fold_checks import distinct
from fleet.landing.fold.prove_fold import FoldProver, Unproved
from fleet.landing.fold.verify_fold import Fold
from fleet.landing.settle_landing import LandingSettler
from fleet.landing.train_store import Learnt, Train, TrainPlace
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
    #: What a person should know of the checkouts that followed.
    sentences: tuple[str, ...] = ()
    #: Tasks whose pull request is watched, and in how many seconds the branch is looked at again:
    #: the forge is asked, or whether a line that failed by itself has moved.
    watched: tuple[str, ...] = ()
    again_in: float = 0.0


class ForPerson(Struct, frozen=True):
    """The train cannot go on before a person did something."""

    why: str


class TrainLanded(Struct, frozen=True):
    """The line holds the train."""


class LineMoved(Struct, frozen=True):
    """Another hand moved the branch or its remote: the train is folded anew."""


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
        self._now = now
        self.place = TrainPlace(home, repo.common_dir, branch)
        self.place.make()
        learnt = self.place.learnt()
        self.prover = FoldProver(home, self.place, learnt, abandon)
        #: How many candidates fail, and why the line could not be moved last time.
        self.share, self.held = learnt.share, learnt.held
        self._behind = learnt.behind
        self.sentences: list[str] = []
        #: Why the train was left; and why a remote branch could not be read or moved for now.
        self.left = self.silence = ""

    def land(self) -> LandRepository:
        """The repository for one fold and move."""
        return LandRepository(self.home.path, self.repo, time.monotonic() + _LIMIT)

    def is_green(
        self, land: LandRepository, train: Train, part: Sequence[WaitingWork]
    ) -> bool | None:
        """Whether the fold passes all checks; None: the train was left."""
        if train.new == train.old:  # the line holds all of it already
            return True
        if train.members:
            self.place.mean(train)
        fold = Fold(branch=self.branch, commit=train.new, tree=train.tree)
        plans = distinct([work.plan for work in part])
        return self.proved(self.prover.passes(land, fold, plans, train.checks), part)

    def proved(self, found: bool | Unproved, part: Sequence[WaitingWork]) -> bool | None:
        """What the prover found; None: unknown, and the train was left. Raises OSError."""
        if not isinstance(found, Unproved):
            self.learn()  # at once: a lander that comes after a kill does not verify it again
            return found
        self.left = found.trouble or "it was stopped"
        if found.trouble:  # through no fault of the work: a person has to mend something
            for work in part:
                self.settler.ask(work, train_words.unverifiable(found.trouble, work.task_id))
        return None

    def mark(self, land: LandRepository, train: Train, works: Sequence[WaitingWork]) -> None:
        """The line holds these members: they have landed."""
        self.share = self.share.after(len(train.members), green=True)
        by_id = {work.task_id: work for work in works}
        for member in train.members:
            if (work := by_id.get(member.task_id)) is not None:
                proof = prove_landed(land.git, member.commit, member.candidate, member.commit)
                self.settler.landed(work, train_words.receipt(train, member, proof, self._now()))

    def note(self, moved: Moved) -> None:
        """The line has moved. Raises OSError."""
        self.sentences += moved.sentences
        self._note_behind(moved.behind)

    def note_ahead(self) -> None:
        """Note that the line is ahead of the branch, and that the lander which moved the line was
        killed before saying why: the branch follows when possible. Raises OSError.
        """
        self._note_behind(self._behind or train_words.KILLED)

    def _note_behind(self, why: str) -> None:
        """Remembered at once: after a kill the branch would not follow before the next train."""
        before, self._behind = self._behind, why
        if why != before:
            self.learn()

    def learn(self) -> None:
        """Remember what this train has learnt by now. Raises OSError."""
        passed = {tree: tuple(sorted(each)) for tree, each in self.prover.passed.items()}
        learnt = Learnt(
            repository=self.repo.root,
            branch=self.branch,
            share=self.share,
            behind=self._behind,
            held=self.held,
            passed=passed,
            failed=dict(self.prover.failed),
            red=self.prover.red_lines,
        )
        self.place.learn(learnt)

    def end(self, *, more: bool) -> TrainEnd:
        """How the train ended."""
        return TrainEnd(
            more=more and not self.left,
            left=self.left,
            behind=self._behind,
            sentences=tuple(self.sentences),
        )
