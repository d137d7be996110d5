"""One train: what waits for a branch is folded and verified, and the branch moves; or the work goes
back.

The order of the steps is what makes a killed lander harmless. What is meant is written first
(`train.json`); then the fold is verified; then the line moves by compare-and-swap; then the tasks
are marked as landed and closed. The next lander sees by the line itself how far this one came.
"""

from collections.abc import Sequence

from msgspec import Struct, structs

from fleet.errors import FleetError
from fleet.git.commit_words import author_in
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.landed_proof import prove_landed
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.move_line import Held, Moved, Raced, move
from fleet.git.land.target import Target, read_target
from fleet.git.remote.push import RemoteMoved, RemoteRefused
from fleet.git.remote.remote_git import RemoteSilent
from fleet.landing import train_words
from fleet.landing.fold.fold_group import fold_group, is_fold_of, landed_since
from fleet.landing.fold.reserved_files import ReservedFiles
from fleet.landing.red_line import RedLines
from fleet.landing.remote.remote_line import RemoteLine, catch_up, line_to_push, was_pushed
from fleet.landing.train_rules import Parts, batch
from fleet.landing.train_state import (
    RACES,
    ForPerson,
    TrainEnd,
    TrainState,
)
from fleet.landing.train_store import Member, Train
from fleet.landing.waiting_work import WaitingWork, waiting_work
from fleet.schemas import Task


class FoldedPart(Struct, frozen=True, kw_only=True):
    """A part of the train as the value that the line may take once it is verified."""

    target: Target
    train: Train
    #: What the value is pushed to before the line takes it; None: it is not pushed.
    remote: RemoteLine | None


class TrainRun:
    """One train of one branch, under the lock of the branch's landers."""

    def __init__(self, at: TrainState, reserved: ReservedFiles | None = None) -> None:
        self._at, self._place = at, at.prover.place
        self._reserved = reserved or ReservedFiles(at)
        self._red_lines = RedLines(at)
        #: What a killed lander meant to do and did not.
        self._meant: Train | None = None

    def run(self, waiting: Sequence[WaitingWork]) -> TrainEnd:
        """Land what waits, as far as one batch reaches. Raises FleetError and OSError."""
        parts = self._parts_of([work.task_id for work in waiting])
        limit = min((work.rules.batch for work in waiting), default=1)
        if not parts.waiting:
            ids = [work.task_id for work in waiting]
            parts = batch(ids, self._at.prover.learnt.share.batch_size(limit))
        wanted = {task_id for part in parts.waiting for task_id in part}
        group = [work for work in waiting if work.task_id in wanted and self._at.settler.test(work)]
        for work in group:
            self._at.prover.credit(work.landing.tree, work.proved)
        if any(work.landing.red_line for work in group):
            self._at.prover.forget_red()
        parts = parts.without(wanted.difference(work.task_id for work in group))
        waits = 0
        try:
            self._land_group(group, parts)
        finally:
            for work in group:
                waits += self._at.settler.wait_again(work.task_id, self._at.silence)
            if not self._at.left:
                self._at.prover.end_train()
            self._at.prover.learn()
        self._at.sentences += self._red_lines.sentences()
        return self._at.end(more=waits > 0 or len(waiting) > len(group))

    def recover(self, tasks: Sequence[Task]) -> None:
        """See to a train that another lander meant: members that the line is proved to hold have
        landed. If none has, and the line stands where it did, the next train is the same one.
        """
        at = self._at
        train = self._place.meant()
        if train is None:
            return
        land = at.land()
        target = read_target(land, at.branch)
        mine = [task for task in tasks if task.id in train.ids]
        waiting = list(waiting_work(at.home, mine))
        if train.upstream and was_pushed(at, land, train):
            if why := catch_up(at, train.new, waiting):
                raise FleetError(f"{train.upstream} has what landed, and {why}")
            target = read_target(land, at.branch)
        candidates = {work.task_id: work.landing.commit for work in waiting}
        held = [
            member
            for member in train.members
            if target.line
            and candidates.get(member.task_id) == member.candidate
            and _holds(land, target.line, member)
        ]
        if target.tip:
            # The lander that moved the line may have been killed before it could say why.
            behind = at.prover.learnt.behind or train_words.KILLED
            at.prover.note_behind(behind if target.line != target.tip else "")
        at.mark(land, structs.replace(train, members=tuple(held)), waiting)
        if not held and target.line == train.old:
            self._meant = train
        else:
            self._place.done()

    def _parts_of(self, waiting: Sequence[str]) -> Parts:
        """The parts that a killed lander had still to try, as far as their candidates wait."""
        parts = self._meant.parts if self._meant is not None else ()
        gone = {task_id for part in parts for task_id in part}.difference(waiting)
        return Parts(parts).without(gone)

    # A group, and the parts of a group that fails.

    def _land_group(self, group: Sequence[WaitingWork], parts: Parts) -> None:
        by_id = {work.task_id: work for work in group}
        races = 0
        while parts.waiting:
            if self._at.prover.abandon.is_set():
                self._at.left = "it was stopped"
                return
            land = self._at.land()
            match self._fold(land, [by_id[each] for each in parts.first]):
                case RemoteSilent(why=why):
                    self._at.left = self._at.silence = why
                    return
                case ForPerson(why=why):
                    self._ask(parts, by_id, why)
                    return
                case FoldedPart() as folded:
                    pass
            parts = parts.without([each for each in parts.first if each not in folded.train.ids])
            train = structs.replace(folded.train, parts=parts.waiting)
            if not train.members:
                continue
            part = [by_id[each] for each in train.ids]
            green = self._at.is_green(land, train, part)
            if green is None:
                return
            if not green:
                parts = self._red(land, folded.target, train, parts, by_id)
                continue
            match self._take(land, folded, train, part):
                case Moved():
                    self._at.prover.note(held="")
                    parts = parts.rest
                case Raced():
                    self._at.prover.note(held="")
                    races += 1
                    if races > RACES:
                        self._at.left = f"{self._at.branch} moves all the time"
                        return
                case Held(why=why):
                    self._hold(parts, by_id, why)
                    return
                case ForPerson(why=why):
                    self._ask(parts, by_id, why)
                    return
                case RemoteSilent(why=why):
                    self._at.left = self._at.silence = why
                    return

    def _take(
        self, land: LandRepository, folded: FoldedPart, train: Train, part: Sequence[WaitingWork]
    ) -> Moved | Raced | Held | ForPerson | RemoteSilent:
        """Push the verified value if the line is pushed, then move the line there."""
        remote = folded.remote
        pushed = remote.push(train.new) if remote is not None else None
        match pushed:
            case RemoteMoved():
                return Raced()
            case RemoteRefused(why=why):
                self._place.done()
                return ForPerson(train_words.refused(train.upstream, why))
            case RemoteSilent(why=why):
                return RemoteSilent(why=train_words.silent(train.upstream, why))
            case _:
                moved = move(land, folded.target, train.new, why=train_words.reflog(train.ids))
        if isinstance(moved, Held):
            return moved
        if isinstance(moved, Moved):
            self._at.moved(moved)
        elif pushed is None:
            return moved
        elif why := catch_up(self._at, train.new, part):  # the remote has it: not folded again
            return ForPerson(why)
        if remote is not None:
            remote.note(train.new)
        self._at.mark(land, train, part)
        self._place.done()
        return Moved(commit=train.new)

    def _fold(
        self, land: LandRepository, part: Sequence[WaitingWork]
    ) -> FoldedPart | ForPerson | RemoteSilent:
        """The value that the line may take, on top of what its remote has."""
        remote = line_to_push(self._at, land, part)
        if isinstance(remote, RemoteSilent | ForPerson):
            return remote
        target = read_target(land, self._at.branch)
        train = self._train_of(land, target, part)
        if isinstance(train, ForPerson):
            return train
        train = structs.replace(train, upstream=remote.shown if remote is not None else "")
        return FoldedPart(target=target, train=train, remote=remote)

    def _train_of(
        self, land: LandRepository, target: Target, part: Sequence[WaitingWork]
    ) -> Train | ForPerson:
        """The train whose value the line may take; what conflicts is sent back."""
        at = self._at
        if not target.tip:
            return ForPerson(train_words.no_branch(at.branch, at.repo.root))
        if self._meant is not None and is_fold_of(land.git, self._meant, target, part):
            return self._meant
        made = fold_group(land.git, target, part, author_in(at.repo))
        if isinstance(made, TreeConflict):
            why = train_words.beside_conflicts(made, at.branch, at.repo.root)
            return ForPerson(f"{why}, and then: fleet land ID")
        for work in part:
            if (conflict := made.conflicts.get(work.task_id)) is not None:
                self._conflicting(land, target, work, conflict)
        return made.train

    def _conflicting(
        self, land: LandRepository, target: Target, work: WaitingWork, found: TreeConflict
    ) -> None:
        """Send work back that conflicts, unless another task was sent back for the same files: then
        the work waits, and is sent back with what that task landed.
        """
        holder = "" if work.landing.approved_by else self._reserved.holder(found.files)
        if holder:
            self._at.settler.wait_again(work.task_id, train_words.takes_turns(holder))
            return
        since = landed_since(land.git, work.landing.base, target.line, but=work.task_id)
        if self._at.settler.send_back(work, train_words.conflicting(found, self._at.branch, since)):
            self._reserved.reserve(work.task_id, found.files)

    def _red(
        self,
        land: LandRepository,
        target: Target,
        train: Train,
        parts: Parts,
        by_id: dict[str, WaitingWork],
    ) -> Parts:
        """Split a part that failed; a single candidate goes back, unless the line is to blame."""
        if len(train.members) > 1:
            return parts.split()
        self._place.done()
        work = by_id[train.ids[0]]
        is_red = self._red_lines.blames(land, target, train, work)
        if is_red is not False:
            return parts.others if is_red else Parts(())
        prover = self._at.prover
        prover.note(share=prover.learnt.share.after(1, green=False))
        since = landed_since(land.git, work.landing.base, target.line, but=work.task_id)
        output = prover.learnt.output(train.tree)
        self._at.settler.send_back(work, train_words.failing(output, self._at.branch, since))
        return parts.split()

    def _hold(self, parts: Parts, by_id: dict[str, WaitingWork], why: str) -> None:
        """The line cannot be moved. A full disk passes; the same reason twice is for a person."""
        if why == self._at.prover.learnt.held:
            self._ask(parts, by_id, why)
        self._at.prover.note(held=why)
        self._at.left = why

    def _ask(self, parts: Parts, by_id: dict[str, WaitingWork], why: str) -> None:
        for part in parts.waiting:
            for task_id in part:
                self._at.settler.ask(by_id[task_id], why.replace("land ID", f"land {task_id}"))


def _holds(land: LandRepository, line: str, member: Member) -> bool:
    """The line is proved to hold a member. Raises GitFailed: a git that fails must not pass for one
    that says no, since the work would land twice.
    """
    there, _ = land.git.judge("merge-base", "--is-ancestor", member.commit, line)
    return there and bool(prove_landed(land.git, line, member.candidate, member.commit))
