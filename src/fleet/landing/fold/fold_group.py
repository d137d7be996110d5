"""Folds a group of candidates onto the line of a branch, one after the other."""

from collections.abc import Sequence

from msgspec import Struct

from fleet.git.commit_object import read_commit
from fleet.git.commit_words import TRAILER, Author, merge_message_of, message_of, title_in
from fleet.git.git_command import Git
from fleet.git.land.fold import Candidate, fold
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.target import Target
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.repository import shown
from fleet.git.tree_difference import changed_names
from fleet.home.landing_json import LandedWork
from fleet.landing.fold.fold_checks import all_names, distinct
from fleet.landing.train_store import Member, Train
from fleet.landing.waiting_work import WaitingWork

#: How many commits are looked through for what landed since.
_MOST_COMMITS = 200
_APART = "\x1f"


class FoldedGroup(Struct, frozen=True, kw_only=True):
    """What folding came to."""

    #: The value that the line may take, and those whose work is in it.
    train: Train
    #: The candidates that conflict with the line, by task.
    conflicts: dict[str, TreeConflict]


def fold_group(
    git: Git,
    target: Target,
    group: Sequence[WaitingWork],
    author: Author,
    *,
    remote: str = "",
) -> FoldedGroup | TreeConflict:
    """Fold a group onto the line. A candidate that conflicts is left out; where another of the
    group has to do with it, it is for a later train: that other one may fail, or land first.

    A branch that a person moved beside its line is merged first, and so is the commit of its
    remote branch; a TreeConflict if that cannot be. Raises GitFailed.
    """
    onto = target.line
    for commit, what in ((target.beside, "what landed ahead of it"), (remote, "its remote")):
        if commit and is_ancestor(git, onto, commit):
            onto = commit
        elif commit:
            message = f"Merge {target.branch} with {what}\n"
            theirs = Candidate(task_id="", commit=commit, message=message, author=author)
            both = fold(git, onto, theirs)
            if isinstance(both, TreeConflict):
                return both
            onto = both.commit
    start, members = onto, list[Member]()
    conflicts: dict[str, TreeConflict] = {}
    for work in group:
        how = work.landing.lands_as
        words = message_of if how == "squash" else merge_message_of
        candidate = Candidate(
            task_id=work.task_id,
            commit=work.landing.commit,
            message=work.message or words(work.landing.title, work.task_id),
            how=how,
            author=author,
            base=work.landing.starts_from,
        )
        made = fold(git, onto, candidate)
        if isinstance(made, TreeConflict):
            if not members or not changed_files(git, start, onto).intersection(made.files):
                conflicts[work.task_id] = made
            continue
        onto = made.commit
        members.append(
            Member(
                task_id=work.task_id,
                candidate=work.landing.commit,
                commit=made.commit,
                parents=made.parents,
                tree=made.tree,
            )
        )
    folded = {member.task_id for member in members}
    plans = distinct([work.plan for work in group if work.task_id in folded])
    train = Train(
        branch=target.branch,
        old=target.line,
        new=onto,
        tree=read_commit(git, onto).tree,
        checks=all_names(plans),
        members=tuple(members),
    )
    return FoldedGroup(train=train, conflicts=conflicts)


def changed_files(git: Git, *between: str) -> set[str]:
    """The files that differ between two commits, by names as a person reads them; with
    `--merge-base` before them, from what they have in common on. Raises GitFailed.
    """
    return set(map(shown, changed_names(git, *between)))


def is_fold_of(git: Git, train: Train, target: Target, group: Sequence[WaitingWork]) -> bool:
    """Whether a train that was meant is what folding this group onto the line comes to again."""
    if not train.parts or target.beside or train.old != target.line:
        return False
    candidates = [(member.task_id, member.candidate) for member in train.members]
    checks = all_names(distinct([work.plan for work in group]))
    same = candidates == [(work.task_id, work.landing.commit) for work in group]
    return same and train.checks == checks and bool(commit_of(git, f"{train.new}^{{commit}}"))


def landed_since(git: Git, base: str, line: str, *, but: str) -> tuple[LandedWork, ...]:
    """The tasks whose work came onto the line since a commit, the oldest first."""
    trailer = f"%(trailers:key={TRAILER},valueonly,separator=%x2C)"
    ask = ("log", "-z", f"--max-count={_MOST_COMMITS}", f"--format={trailer}{_APART}%s")
    found: dict[str, str] = {}
    for entry in git.ask(*ask, f"{base}..{line}", "--").decode(errors="replace").split("\0"):
        task_id, _, subject = entry.partition(_APART)
        if task_id and task_id != but:
            found.setdefault(task_id, title_in(subject, task_id))
    return tuple(LandedWork(task_id=each, title=found[each]) for each in reversed(found))
