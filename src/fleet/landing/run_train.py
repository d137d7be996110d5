"""One train: what waits for a branch is folded, verified, and the branch moves, or it goes back.

The order of the steps is what makes a killed lander harmless. What is meant is written first
(`train.json`); then the fold is verified; then the line moves by compare-and-swap; then the tasks
are marked as landed and closed. The next lander sees by the line itself how far this one came.
"""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct, structs

from fleet.errors import FleetError
from fleet.git.commit_words import author_in
from fleet.git.land.fold import Conflict
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.landed_proof import prove_landed
from fleet.git.land.move_line import Held, Moved, move
from fleet.git.land.target import Target, read_target
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.remote.push import RemoteMoved, RemoteRefused
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.landing import train_words
from fleet.landing.fold.fold_checks import all_names, command_of, distinct
from fleet.landing.fold.fold_group import fold_group, landed_since
from fleet.landing.fold.prove_fold import FoldProver, Unproved
from fleet.landing.fold.verify_fold import Fold
from fleet.landing.red_line import line_alone
from fleet.landing.remote.remote_line import RemoteLine, remote_line
from fleet.landing.settle_landing import LandingDesk
from fleet.landing.train_rules import Parts, batch, size_after
from fleet.landing.train_store import Learnt, Member, Train, TrainPlace
from fleet.landing.waiting_work import WaitingWork, waiting_work
from fleet.schemas import Task

#: Seconds for the git commands of one fold and move.
_LIMIT = 300.0
#: How often a fold is made anew, since the branch moved meanwhile.
_RACES = 10


class TrainEnd(Struct, frozen=True, kw_only=True):
    """How a train ended."""

    #: More candidates wait than the batch had room for.
    more: bool = False
    #: Why the train was left, to be tried again later; empty if it came to its end.
    left: str = ""
    #: Why the branch does not stand where its line does; empty if it does.
    behind: str = ""
    #: What a person should know of the checkouts that followed.
    told: tuple[str, ...] = ()
    #: Tasks whose pull request is watched, and in how many seconds the branch is looked at again:
    #: the forge is asked, or whether a line that failed by itself has moved.
    watched: tuple[str, ...] = ()
    again_in: float = 0.0


class TrainRun:
    """One train of one branch, under the lock of its repository."""

    def __init__(
        self,
        home: Home,
        repo: Repository,
        branch: str,
        desk: LandingDesk,
        *,
        abandon: threading.Event,
        now: Callable[[], datetime],
    ) -> None:
        self._home, self._repo, self._branch, self._desk = home, repo, branch, desk
        self._abandon, self._now = abandon, now
        self._place = TrainPlace(home, repo.common_dir, branch)
        self._place.make()
        learnt = self._place.learnt()
        self._prover = FoldProver(home, self._place, learnt, abandon)
        self._size, self._behind = learnt.size, learnt.behind
        self._held, self._left, self._told = learnt.held, "", list[str]()
        #: Why a remote branch could not be read or moved for now; empty: it could.
        self._silence = ""
        #: Those that fail as the line itself does, by its commit and the command that fails.
        self._by_red_line: dict[tuple[str, str], list[str]] = {}

    def run(self, waiting: Sequence[WaitingWork]) -> TrainEnd:
        """Land what waits, as far as one batch reaches. Raises FleetError and OSError."""
        limit = min((work.rules.batch for work in waiting), default=1)
        self._size = min(self._size or limit, limit)
        first = batch([work.task_id for work in waiting], self._size).first
        group = [work for work in waiting if work.task_id in first and self._desk.test(work)]
        for work in group:
            self._prover.credit(work.landing.tree, work.proved)
        if any(work.landing.red_line for work in group):
            self._prover.forget_red()
        try:
            self._land_group(group, limit)
        finally:
            for work in group:
                self._desk.wait(work.task_id, self._silence)
            self._learn_all()
        for (line, command), ids in self._by_red_line.items():
            self._told.append(train_words.waits_for_line(self._branch, command, line, ids))
        if not self._left:
            self._prover.tidy()
        return self._end(more=len(waiting) > len(first))

    def recover(self, tasks: Sequence[Task]) -> None:
        """See to a train that another lander meant: members that the line is proved to hold have
        landed, the others wait as before.
        """
        train = self._place.meant()
        if train is None:
            return
        land = self._land()
        target = read_target(land, self._branch)
        ids = _ids(train)
        waiting = list(waiting_work(self._home, [task for task in tasks if task.id in ids]))
        if train.upstream and self._was_pushed(land, train):
            if why := self.catch_up(train.new, waiting):
                raise FleetError(f"{train.upstream} has what landed, and {why}")
            target = read_target(land, self._branch)
        candidates = {work.task_id: work.landing.commit for work in waiting}
        held = [
            member
            for member in train.members
            if target.line
            and candidates.get(member.task_id) == member.candidate
            and _holds(land, target.line, member)
        ]
        self._mark(land, structs.replace(train, members=tuple(held)), waiting)
        self._place.done()

    def catch_up(self, commit: str, works: Sequence[WaitingWork]) -> str:
        """Have the line hold a commit of its remote branch; empty if it does, else why not.

        Where the line has commits that the remote lacks, both are merged, and verified as these
        works are.
        """
        for _ in range(_RACES):
            land = self._land()
            target = read_target(land, self._branch)
            if not target.tip:
                return train_words.no_branch(self._branch, self._repo.root)
            if is_ancestor(land.git, commit, target.line):
                return ""
            made = fold_group(land.git, target, (), author_in(self._repo), remote=commit)
            if isinstance(made, Conflict):
                return train_words.remote_conflicts(made, self._branch, self._repo.root)
            train = made.train
            if train.new != commit:
                checks = all_names(distinct([work.plan for work in works]))
                if not self._is_green(land, structs.replace(train, checks=checks), works):
                    return self._left or train_words.remote_fails(self._branch, self._repo.root)
            moved = move(land, target, train.new, why="fleet: follow the remote")
            if isinstance(moved, Held):
                return moved.why
            if isinstance(moved, Moved):
                self._note(moved)
                self._learn_all()
                return ""
        return f"{self._branch} moves all the time"

    # A group, and its parts if it fails.

    def _land_group(self, group: Sequence[WaitingWork], limit: int) -> None:
        by_id = {work.task_id: work for work in group}
        parts = batch(list(by_id), len(group))
        whole, races = True, 0
        while parts.waiting:
            if self._abandon.is_set():
                self._left = "it was stopped"
                return
            part = [by_id[each] for each in parts.first]
            land = self._land()
            remote = self._remote(land, part)
            target = read_target(land, self._branch)
            if isinstance(remote, RemoteSilent):
                self._left = self._silence = remote.why
                return
            made = remote if isinstance(remote, str) else self._folded(land, target, part)
            if isinstance(made, str) or isinstance(remote, str):
                self._ask(parts, by_id, str(made))
                return
            train = structs.replace(made, upstream=remote.shown if remote is not None else "")
            left_out = [each for each in parts.first if each not in _ids(train)]
            parts = parts.without(left_out)
            if not train.members:
                continue
            part = [by_id[each] for each in _ids(train)]
            green = self._is_green(land, train, part)
            if green is None:
                return
            if whole:
                self._size, whole = size_after(self._size, limit, green=green), False
            if not green:
                parts = self._red(land, target, train, parts, by_id)
                continue
            landed = self._take(land, target, train, part, remote)
            if isinstance(landed, Held):
                self._hold(parts, by_id, landed.why)
            elif isinstance(landed, str):
                self._ask(parts, by_id, landed)
            if not isinstance(landed, bool):
                return
            self._held = ""
            if landed:
                parts = parts.rest
                continue
            races += 1
            if races > _RACES:
                self._left = f"{self._branch} moves all the time"
                return

    def _take(
        self,
        land: LandRepository,
        target: Target,
        train: Train,
        part: Sequence[WaitingWork],
        remote: RemoteLine | None,
    ) -> bool | str | Held | None:
        """Push the verified value, if it is to be pushed, and have the line take it.

        True: it has landed. False: another hand moved the branch or its remote. A text is for a
        person. None: the remote gave no answer, and the train is left.
        """
        pushed = remote.push(train.new) if remote is not None else None
        match pushed:
            case RemoteMoved():
                return False
            case RemoteRefused(why=why):
                self._place.done()
                return train_words.refused(train.upstream, why)
            case RemoteSilent(why=why):
                self._left = self._silence = train_words.silent(train.upstream, why)
                return None
            case _:
                moved = move(land, target, train.new, why=train_words.reflog(_ids(train)))
        if isinstance(moved, Held):
            return moved
        if isinstance(moved, Moved):
            self._note(moved)
        elif pushed is None:
            return False
        elif why := self.catch_up(train.new, part):  # the remote has it: it is not folded again
            return why
        self._mark(land, train, part)
        self._place.done()
        return True

    def _remote(
        self, land: LandRepository, part: Sequence[WaitingWork]
    ) -> RemoteLine | RemoteSilent | str | None:
        """The remote branch to push to, which the line holds by now; None: there is none to.

        A text is for a person: where to push is not known or not confirmed, or the line cannot
        follow.
        """
        if not any(work.landing.to == "push" for work in part):
            return None
        remote = remote_line(self._home, land, self._branch)
        if isinstance(remote, str):
            return remote
        if (silent := remote.read()) is not None:
            return RemoteSilent(why=train_words.silent(remote.shown, silent.why))
        if remote.commit:
            return self.catch_up(remote.commit, part) or remote
        followed = f"refs/remotes/{remote.shown}"
        return train_words.gone(remote.shown) if commit_of(land.refs, followed) else remote

    def _was_pushed(self, land: LandRepository, train: Train) -> bool:
        """Whether the remote has what an earlier lander meant. Raises FleetError: it is silent."""
        remote = remote_line(self._home, land, self._branch)
        if isinstance(remote, str):
            raise FleetError(remote)
        if (silent := remote.read()) is not None:
            raise FleetError(train_words.silent(remote.shown, silent.why))
        return bool(remote.commit) and is_ancestor(land.git, train.new, remote.commit)

    def _folded(
        self, land: LandRepository, target: Target, part: Sequence[WaitingWork]
    ) -> Train | str:
        """The value that the line may take; what conflicts is sent back. A text: why it cannot take
        any, which is for a person.
        """
        if not target.tip:
            return train_words.no_branch(self._branch, self._repo.root)
        made = fold_group(land.git, target, part, author_in(self._repo))
        if isinstance(made, Conflict):
            return train_words.beside_conflicts(made, self._branch, self._repo.root)
        for work in part:
            if (conflict := made.conflicts.get(work.task_id)) is not None:
                since = landed_since(land.git, work.landing.base, target.line, but=work.task_id)
                self._desk.send_back(work, train_words.conflicting(conflict, self._branch, since))
        return made.train

    def _is_green(
        self, land: LandRepository, train: Train, part: Sequence[WaitingWork]
    ) -> bool | None:
        """Whether the fold passes all checks; None: the train was left."""
        if train.new == train.old:  # the line holds all of it already
            return True
        if train.members:
            self._place.mean(train)
        fold = Fold(branch=self._branch, commit=train.new, tree=train.tree)
        plans = distinct([work.plan for work in part])
        return self._proved(self._prover.passes(land, fold, plans, train.checks), part)

    def _proved(self, found: bool | Unproved, part: Sequence[WaitingWork]) -> bool | None:
        """The same; None: it cannot be known, and the train was left."""
        if not isinstance(found, Unproved):
            return found
        self._left = found.trouble or "it was stopped"
        if found.trouble:  # through no fault of the work: a person has to mend something
            for work in part:
                self._desk.ask(work, train_words.unverifiable(found.trouble, work.task_id))
        return None

    def _red(
        self,
        land: LandRepository,
        target: Target,
        train: Train,
        parts: Parts,
        by_id: dict[str, WaitingWork],
    ) -> Parts:
        """Split a part that failed; a single candidate goes back, unless the line is to blame."""
        self._place.done()
        if len(train.members) > 1:
            return parts.split()
        work = by_id[_ids(train)[0]]
        check = self._prover.failing(train.tree, train.checks)
        red_line = self._red_line(land, target, work, check)
        if red_line is None:
            return Parts(())
        if red_line:
            command = command_of(check)
            self._by_red_line.setdefault((red_line, command), []).append(work.task_id)
            why = train_words.line_fails(self._branch, command, red_line, work.task_id)
            self._desk.ask_about_line(work, why, red_line)
            return parts.rest
        since = landed_since(land.git, work.landing.base, target.line, but=work.task_id)
        output = self._prover.output(train.tree)
        self._desk.send_back(work, train_words.failing(output, self._branch, since))
        return parts.rest

    def _red_line(
        self, land: LandRepository, target: Target, work: WaitingWork, check: str
    ) -> str | None:
        """The commit of the line if it fails a check of its own without the work; empty if it does
        not. None: the train was left.
        """
        line = line_alone(land.git, target, author_in(self._repo))
        if line is None or check in work.plan.own:
            return ""
        green = self._proved(self._prover.line_passes(land, line, work.plan, check), [work])
        return None if green is None else "" if green else line.commit

    def _mark(self, land: LandRepository, train: Train, works: Sequence[WaitingWork]) -> None:
        """The line holds these members: they have landed."""
        by_id = {work.task_id: work for work in works}
        for member in train.members:
            if (work := by_id.get(member.task_id)) is not None:
                proof = prove_landed(land.git, member.commit, member.candidate, member.commit)
                self._desk.landed(work, train_words.receipt(train, member, proof, self._now()))

    def _hold(self, parts: Parts, by_id: dict[str, WaitingWork], why: str) -> None:
        """The line cannot be moved. A full disk passes; the same reason twice is for a person."""
        if why == self._held:
            self._ask(parts, by_id, why)
        self._held = self._left = why

    def _ask(self, parts: Parts, by_id: dict[str, WaitingWork], why: str) -> None:
        for part in parts.waiting:
            for task_id in part:
                self._desk.ask(by_id[task_id], why.replace("land ID", f"land {task_id}"))

    def _learn_all(self) -> None:
        learnt = Learnt(
            repository=self._repo.root,
            branch=self._branch,
            size=self._size,
            behind=self._behind,
            held=self._held,
            passed={tree: tuple(sorted(each)) for tree, each in self._prover.passed.items()},
            red=self._prover.red_lines,
        )
        self._place.learn(learnt)

    def _note(self, moved: Moved) -> None:
        self._behind = moved.behind
        self._told += moved.told

    def _land(self) -> LandRepository:
        return LandRepository(self._home.path, self._repo, time.monotonic() + _LIMIT)

    def _end(self, *, more: bool = False) -> TrainEnd:
        return TrainEnd(
            more=more and not self._left,
            left=self._left,
            behind=self._behind,
            told=tuple(self._told),
        )


def _holds(land: LandRepository, line: str, member: Member) -> bool:
    """The line is proved to hold a member. Raises GitFailed: a git that fails must not pass for one
    that says no, since the work would land twice.
    """
    there, _ = land.git.judge("merge-base", "--is-ancestor", member.commit, line)
    return there and prove_landed(land.git, line, member.candidate, member.commit) is not None


def _ids(train: Train) -> list[str]:
    return [member.task_id for member in train.members]
