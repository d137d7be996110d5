"""The remote branch that a train pushes to: read before the fold, moved once the fold was verified;
and the line, which follows the remote branch.

The remote moves before the line does, so that the line never holds what the remote refused.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress

from msgspec import structs

from fleet.errors import FleetError, InvalidTask
from fleet.git.commit_words import author_in
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.move_line import Held, Moved, move
from fleet.git.land.target import read_target
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.remote.push import PushAnswer, fetch_tip, push_forward
from fleet.git.remote.remote_git import RemoteGit, RemoteSilent
from fleet.git.remote.trusted_remotes import is_trusted, untrusted_text
from fleet.git.remote.upstream import NoUpstream, Upstream, upstream_of
from fleet.home import Home
from fleet.landing import train_words
from fleet.landing.fold.fold_checks import all_names, distinct
from fleet.landing.fold.fold_group import fold_group
from fleet.landing.train_state import RACES, ForPerson, TrainState
from fleet.landing.train_store import Train
from fleet.landing.waiting_work import WaitingWork

_LIMIT = 30.0


class RemoteLine:
    """The upstream of one branch, with the commit that was read last."""

    def __init__(self, land: LandRepository, upstream: Upstream) -> None:
        self.upstream = upstream
        self.remote = RemoteGit(land.own, upstream.url)
        self._git, self._refs = land.git, land.refs
        #: The commit of the remote branch; empty: it has none.
        self.commit = ""

    def read(self) -> RemoteSilent | None:
        """Read the remote branch, and fetch the commits; None: no problem."""
        found = fetch_tip(self.remote, self._git, self.upstream.ref)
        if isinstance(found, RemoteSilent):
            return found
        self.commit = found
        return None

    def push(self, new: str) -> PushAnswer:
        """Move the remote branch from the commit that was read to one that contains that commit."""
        return push_forward(self.remote, self._git, ref=self.upstream.ref, old=self.commit, new=new)

    def note(self, commit: str) -> None:
        """Note the commit of the remote branch where the project's `git fetch` would, or else the
        project's git calls the branch ahead of the remote.
        """
        ref = self.upstream.tracking
        old = commit_of(self._refs, ref) if ref else ""
        if not ref or (old and not is_ancestor(self._git, old, commit)):
            return  # a person fetched more, or it is for their next fetch to say
        with suppress(GitFailed):
            ask = ("update-ref", "--no-deref", "-m", "fleet: push", ref, commit)
            self._refs.ask(*ask, old or "0" * len(commit))

    @property
    def shown(self) -> str:
        """The remote branch, for people."""
        return f"{self.upstream.remote}/{self.upstream.branch}"


def remote_line(home: Home, land: LandRepository, branch: str) -> RemoteLine | str:
    """The upstream of a branch, if the operator lets fleet push there; else words for a person."""
    try:
        upstream = upstream_of(Git(land.repo, time.monotonic() + _LIMIT), branch)
        if is_trusted(home.path, os.path.realpath(land.repo.common_dir), upstream.url):
            return RemoteLine(land, upstream)
    except NoUpstream as error:
        return f"{error.message}. {error.hint}, and then: fleet land ID"
    except (GitFailed, InvalidTask) as error:
        return f"{error.message}, so that fleet cannot tell where to push"
    return f"{untrusted_text(land.repo.root, upstream)}, and then: fleet land ID"


def catch_up(at: TrainState, commit: str, works: Sequence[WaitingWork]) -> str:
    """Have the line hold a commit of the remote branch; empty if done, else why not.

    Where the line has commits that the remote lacks, both are merged, and verified as these
    works are.
    """
    for _ in range(RACES):
        land = at.land()
        target = read_target(land, at.branch)
        if not target.tip:
            return train_words.no_branch(at.branch, at.repo.root)
        if is_ancestor(land.git, commit, target.line):
            return ""
        made = fold_group(land.git, target, (), author_in(at.repo), remote=commit)
        if isinstance(made, TreeConflict):
            return train_words.remote_conflicts(made, at.branch, at.repo.root)
        train = made.train
        if train.new != commit:
            checks = all_names(distinct([work.plan for work in works]))
            if not at.is_green(land, structs.replace(train, checks=checks), works):
                return at.left or train_words.remote_fails(at.branch, at.repo.root)
        moved = move(land, target, train.new, why="fleet: follow the remote")
        if isinstance(moved, Held):
            return moved.why
        if isinstance(moved, Moved):
            at.moved(moved)
            at.prover.learn()
            return ""
    return f"{at.branch} moves all the time"


def line_to_push(
    at: TrainState, land: LandRepository, part: Sequence[WaitingWork]
) -> RemoteLine | RemoteSilent | ForPerson | None:
    """The remote branch to push to, which the line holds by now; None: there is none to.

    A person is needed where it is not known or not confirmed where to push, or where the line
    cannot follow.
    """
    if not any(work.landing.to == "push" for work in part):
        return None
    remote = remote_line(at.home, land, at.branch)
    if isinstance(remote, str):
        return ForPerson(remote)
    if (silent := remote.read()) is not None:
        return RemoteSilent(why=train_words.silent(remote.shown, silent.why))
    if remote.commit:
        if why := catch_up(at, remote.commit, part):
            return ForPerson(why)
        remote.note(remote.commit)
        return remote
    known = remote.upstream.tracking
    is_gone = bool(known and commit_of(land.refs, known))
    return ForPerson(train_words.gone(remote.shown)) if is_gone else remote


def was_pushed(at: TrainState, land: LandRepository, train: Train) -> bool:
    """Whether the remote has what an earlier lander meant. Raises FleetError: it is silent."""
    remote = remote_line(at.home, land, at.branch)
    if isinstance(remote, str):
        raise FleetError(remote)
    if (silent := remote.read()) is not None:
        raise FleetError(train_words.silent(remote.shown, silent.why))
    return bool(remote.commit) and is_ancestor(land.git, train.new, remote.commit)
