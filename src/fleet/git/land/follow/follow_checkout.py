"""Brings a person's working tree after the branch: files and index go from one commit to another.

Only a tree without changes follows, and only where git alone decides how files look: a sparse tree,
or one with a `filter` on what changed, unless a person asked for the move, is left and told. No
program of the project runs, nothing is stashed or reset, and all that can fail is done before the
branch moves (`prepare_follow`).
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fleet.files import lenient_read
from fleet.git import tree_snapshot
from fleet.git.clone.source_facts import PLAIN
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.follow.follow_journal import FollowJournal, FollowPlace, is_begun, open_place
from fleet.git.land.follow.follow_steps import GITLINK, FollowStep, carry_out, plan_steps
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.target import BranchCheckout, trees_of
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.repository import Repository, shown
from fleet.git.tree_difference import tree_entries
from fleet.git.user_settings import settings_of, users_file
from fleet.schemas.shown_text import some

_FEW = 3
_LARGEST = 1 << 20


class Follow:
    """One working tree that is ready to follow; the index is locked until the end."""

    def __init__(self, land: LandRepository, place: FollowPlace, journal: FollowJournal) -> None:
        self._land, self._place, self._journal = land, place, journal

    def carry_out(self) -> tuple[str, ...]:
        """Bring files and index to the new commit; returns what a person should know."""
        place, root = self._place, os.fsencode(self._place.repo.root)
        sentences: list[str] = []
        try:
            staged = os.fsencode(place.files)
            sentences += [_tried(root, staged, step) for step in self._journal.steps]
            if place.index.exists():
                _refresh(self._land, place, self._journal.steps)
                place.put_index()
            place.clear()
        finally:
            place.let_go()
        return tuple(f"{place.repo.root}: {each}" for each in sentences if each)

    def leave(self) -> None:
        """Forget the prepared follow: the branch did not move."""
        try:
            self._place.clear()
        finally:
            self._place.let_go()


def prepare_follow(
    land: LandRepository,
    checkout: BranchCheckout,
    ref: str,
    old: str,
    new: str,
    *,
    as_stored: bool = False,
) -> Follow | str:
    """Get a working tree on `old` ready to follow the branch to `new`, or say why
    the tree is left. `as_stored`: a filter is no reason, and is not run.
    """
    repo = checkout.repo
    if checkout.why:
        return checkout.why
    try:
        place = open_place(repo)
    except GitFailed as error:
        return error.message
    if place is None:
        return f"{repo.root}: another process of fleet is at it"
    if place.is_used:
        place.let_go()
        return f"{repo.root}: an earlier process began to bring it after its branch"
    try:
        why = "another git process is at work (index.lock)"
        if place.take_lock():
            found = _prepared(land, place, ref, old, new, as_stored=as_stored)
            if isinstance(found, FollowJournal):
                place.write(found)
                return Follow(land, place, found)
            why = found
    except OSError as error:
        why = error.strerror or str(error)
    except GitFailed as error:
        why = error.message
    Follow(land, place, _NOTHING).leave()
    return f"{repo.root}: {why}"


def finish_follows(land: LandRepository) -> tuple[str, ...]:
    """Complete, or take back, what a killed process began in any working tree of the repository.

    Returns what a person should know. Raises GitFailed.
    """
    sentences: list[str] = []
    begun = [repo for repo in trees_of(land) if is_begun(repo)]
    if begun:
        land.wait_for_moves()
    for repo in begun:
        place = open_place(repo)
        if place is None:
            continue
        journal = place.read()
        follow = Follow(land, place, journal or _NOTHING)
        tip = commit_of(land.refs, journal.ref) if journal is not None else ""
        if journal is None or not is_ancestor(land.git, journal.new, tip):
            follow.leave()
        elif place.index.exists() and not _may_go_on(place, journal):
            follow.leave()
            sentences.append(
                f"{repo.root}: its index changed while its branch moved; see git status"
            )
        else:
            sentences += follow.carry_out()
    return tuple(sentences)


_NOTHING = FollowJournal(ref="", old="", new="", steps=[], index=(0, 0))


def _may_go_on(place: FollowPlace, journal: FollowJournal) -> bool:
    """The index is unchanged, and locked by us, or a person took our lock away."""
    if place.index_now() != journal.index:
        return False
    return place.owns_lock() or (place.is_unlocked and place.take_lock())


def _prepared(
    land: LandRepository, place: FollowPlace, ref: str, old: str, new: str, *, as_stored: bool
) -> FollowJournal | str:
    """Store the new files and the new index beside the journal; or why the tree is left."""
    repo = place.repo
    if os.path.islink(f"{repo.git_dir}/index"):  # noqa: PTH114
        return f"{repo.git_dir}/index leads elsewhere"
    entries = tree_entries(land.git, old, new)
    # The marks of the files are taken before git looks whether they are clean.
    steps, obstacle = plan_steps(os.fsencode(repo.root), entries)
    index, how = place.index_now(), _persons_settings(place)
    with tree_snapshot.copied_index(repo) as copy:
        tree_snapshot.share_index(land.own, repo)
        git = _git_over(land, copy, repo.root, how)
        # No for files in conflict, which are told with the other changes.
        git.judge("update-index", "-q", "--refresh")
        if why := _flags(git) or _changes(git, old) or obstacle:
            return why
        git.ask("read-tree", "-m", old, new)
        shutil.copyfile(copy, place.index)
    place.files.mkdir(mode=0o700)
    staging = _git_over(land, place.index, str(place.files), how)
    paths = [each.path for each in entries if each.new and each.new_mode != GITLINK]
    if not as_stored and (filtered := _filtered(staging, paths)):
        return f"{filtered} has a filter, which fleet does not run"
    if paths:
        ask = ("checkout-index", "--force", "--quiet", "-z", "--stdin")
        staging.ask(*ask, feed=b"".join(path + b"\0" for path in paths))
    return FollowJournal(ref=ref, old=old, new=new, steps=steps, index=index)


def _git_over(land: LandRepository, index: Path, root: str, how: Mapping[str, str]) -> Git:
    """Fleet's git over a directory, that writes files as these settings say."""
    there = Repository(root=root, git_dir=land.own.git_dir, common_dir=land.own.git_dir)
    return land.git.at(there, str(index)).with_settings(how)


def _persons_settings(place: FollowPlace) -> dict[str, str]:
    """How the person's git writes files, with the attributes that stand outside of the tree."""
    repo, settings = place.repo, settings_of(place.repo)
    paths = (users_file(settings, "attributes"), f"{repo.common_dir}/info/attributes")
    found = [lenient_read.read(path, _LARGEST) for path in paths]
    text = b"\n".join(each.data for each in found if each is not None and each.whole)
    place.attributes.write_bytes(text)
    plain = {f"core.{name}" for name in PLAIN} & settings.keys()
    return {
        **{name: settings[name] for name in plain},
        "core.attributesFile": str(place.attributes),
    }


def _changes(git: Git, head: str) -> str:
    """The changes that keep a tree from following, in words; new files are not among them.

    The index of `git` is refreshed: what only has another time is no change.
    """
    ask = ("diff-index", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", head)
    names = sorted({shown(name) for name in git.ask(*ask).split(b"\0") if name})
    return f"changes that are not committed: {some(names, _FEW)}" if names else ""


def _flags(git: Git) -> str:
    """Files that the person told git not to look at."""
    for entry in git.ask("ls-files", "-v", "-z").split(b"\0"):
        if entry[:1] == b"S":
            return "its checkout is sparse"
        if entry[:1].islower():
            return f"{shown(entry[2:])} is marked as unchanged for git"
    return ""


def _filtered(git: Git, paths: list[bytes]) -> str:
    """The first of some paths that a filter is asked for."""
    if not paths:
        return ""
    feed = b"".join(path + b"\0" for path in paths)
    parts = git.ask("check-attr", "-z", "--cached", "--stdin", "filter", feed=feed).split(b"\0")
    for path, value in zip(parts[::3], parts[2::3], strict=False):
        if value not in (b"unspecified", b"unset"):
            return shown(path)
    return ""


def _tried(root: bytes, staged: bytes, step: FollowStep) -> str:
    try:
        return carry_out(root, staged, step)
    except OSError as error:
        why = error.strerror or str(error)
        return f"{shown(step.path)} could not be written ({why}); git restore brings it"


def _refresh(land: LandRepository, place: FollowPlace, steps: Sequence[FollowStep]) -> None:
    """Have the new index know the times of the new files; without that git compares the files
    again.
    """
    with suppress(GitFailed):
        how = _persons_settings(place)
        git = _git_over(land, place.index, place.repo.root, how)
        new = [step.path for step in steps if step.new]
        if new:
            ask = ("add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul")
            git.ask(*ask, feed=b"\0".join(new))
