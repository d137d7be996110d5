"""Moves a person's working tree from one commit of its branch to the next, as `git merge --ff-only`
does: by git's own two-way merge, which keeps local changes that do not overlap and refuses others.

A tree in which a living box can write is not moved: its agent could swap a directory for a link
while git writes there. The caller lets no box start (`LandRepository.hold_boxes`).

Git works in fleet's own git directory, over a copy of the person's index, so no hook, filter or
monitor of the project runs. Files go first, then the branch, then the index. All the while the
index is locked. A tree that is cut off in between is at the old or the new commit after
`finish_moves`, by where the branch stands.
"""

import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files import lenient_read
from fleet.files.safe_read import walk
from fleet.git.clone.source_facts import PLAIN
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.held_index import HeldIndex, MeantMove, hold_index, is_held
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.target import BranchCheckout, trees_of
from fleet.git.land.write_access import writer_in
from fleet.git.refs import commit_of
from fleet.git.repository import Repository, checked_out, shown
from fleet.git.tree_difference import TreeEntry, tree_entries
from fleet.git.tree_snapshot import share_index
from fleet.git.user_settings import settings_of, users_file
from fleet.schemas.shown_text import some

_FEW = 3
_LARGEST = 1 << 20
_GITLINK = b"160000"
_BY_ITSELF = "fleet lands by itself then"
_AFTER_RUN = "fleet lands when its run ends"
_BY_HAND = "git -C {root} merge --ff-only refs/fleet/land/{branch}"
_IS_BUSY = "another git process is at work (index.lock)"


class InTheWay(Struct, frozen=True, kw_only=True):
    """Why a working tree cannot move, and what a person can do about it."""

    why: str
    way: str

    @property
    def words(self) -> str:
        return f"{self.why}: {self.way}"


class MovedTree(Struct, frozen=True):
    """A working tree whose files are at the new commit. The index is locked until `keep` or
    `undo`.
    """

    land: LandRepository
    held: HeldIndex
    meant: MeantMove

    def keep(self) -> None:
        """Put the new index in place: the branch has moved. Raises OSError."""
        if self.held.index.exists():
            self.held.put_index()
        self.held.clear()

    def undo(self) -> None:
        """Bring the files back: the branch stays. Raises GitFailed and OSError."""
        _bring_files(self.land, self.held, self.meant.new, self.meant.old)
        self.held.clear()


def fast_forward(
    land: LandRepository, checkout: BranchCheckout, ref: str, old: str, new: str
) -> MovedTree | InTheWay:
    """Move the files of a working tree on `old`, the commit of `ref`, to `new`; or what is in the
    way, and then nothing has changed.
    """
    repo, branch = checkout.repo, ref.removeprefix("refs/heads/")
    place = f"{branch} is checked out at {repo.root}"
    passes = InTheWay(why=f"{place}, where {_IS_BUSY}", way="fleet lands once it has ended")
    if checkout.why:
        why = f"{place or repo.git_dir}, where {checkout.why}"
        return InTheWay(why=why, way=f"see to that; {_BY_ITSELF}")
    held: HeldIndex | None = None
    try:
        entries = tree_entries(land.git, old, new)
        if writer := writer_in(repo, [each.path for each in entries]):
            return InTheWay(why=f"{place}, where {writer} is at work", way=_AFTER_RUN)
        held = hold_index(repo)
        if held is None or held.is_used or not held.take_lock():
            if held is not None:
                _release(held)
            return passes
        if checked_out(repo.git_dir) != ref:
            held.clear()
            return InTheWay(why=f"{repo.root} was switched just now", way=_BY_ITSELF)
        return _moved(land, held, MeantMove(ref=ref, old=old, new=new), entries, place)
    except (OSError, GitFailed, InvalidTask) as error:
        if held is not None:
            _release(held)
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return InTheWay(why=f"{place}, and cannot be moved ({why})", way=f"mend it; {_BY_ITSELF}")


def finish_moves(land: LandRepository) -> None:
    """Complete, or take back, what a killed process began in any working tree of the repository.

    Raises GitFailed and OSError.
    """
    begun = [repo for repo in trees_of(land) if is_held(repo)]
    if begun:
        land.wait_for_moves()
    with land.hold_boxes() if begun else nullcontext():
        for repo in begun:
            _finish_move(land, repo)


def _finish_move(land: LandRepository, repo: Repository) -> None:
    held = hold_index(repo)
    if held is None:
        return
    meant = held.meant()
    if meant is None:
        held.clear()
    elif writer_in(repo, [each.path for each in tree_entries(land.git, meant.old, meant.new)]):
        held.let_go()  # the next look finishes it, once that run has ended
    elif not held.has_lock() and not held.take_lock():
        held.let_go()  # git is at work there: the next look finishes it
    else:
        _finish(land, held, meant)


def _finish(land: LandRepository, held: HeldIndex, meant: MeantMove) -> None:
    try:
        if commit_of(land.refs, meant.ref) == meant.new:
            held.copy_index()
            git = _git_over(land, held.index, held.repo.root, _persons_settings(held))
            git.ask("read-tree", "-i", "-m", meant.old, meant.new)
            held.put_index()
            _bring_files(land, held, meant.old, meant.new)
        else:
            _bring_files(land, held, meant.new, meant.old)
    finally:
        held.clear()


def _release(held: HeldIndex) -> None:
    """Give the index back; a move that is begun is left to `finish_moves`."""
    if held.meant() is None:
        held.clear()
    else:
        held.let_go()


def _moved(
    land: LandRepository,
    held: HeldIndex,
    meant: MeantMove,
    entries: Sequence[TreeEntry],
    place: str,
) -> MovedTree | InTheWay:
    """Move the files, with the index locked."""
    root = held.repo.root
    settings = settings_of(held.repo)
    hand = _BY_HAND.format(root=root, branch=meant.ref.removeprefix("refs/heads/"))
    found: InTheWay | None = None
    if settings.get("core.sparsecheckout", "").lower() in ("true", "yes", "on", "1"):
        found = InTheWay(why=f"{place}, as a sparse checkout", way=hand)
    elif filtered := _filtered(land, held, meant.new, entries, settings):
        found = InTheWay(why=f"{place}, and git filters {filtered} there", way=hand)
    elif names := _untracked(os.fsencode(root), entries):
        why = f"{place}, where {some(names, _FEW)} is not in git and would be overwritten"
        found = InTheWay(why=why, way=f"move or commit that; {_BY_ITSELF}")
    if found is not None:
        held.clear()
        return found
    held.copy_index()
    share_index(land.own, held.repo)
    held.mean(meant)
    git = _git_over(land, held.index, root, _persons_settings(held, settings))
    ask = ("read-tree", "-m", "-u", meant.old, meant.new)
    try:
        try:
            land.ask_alone(git, *ask)
        except GitFailed:  # maybe for times alone, which git does not look behind here
            git.judge("update-index", "-q", "--refresh")
            land.ask_alone(git, *ask)
    except GitFailed as error:
        names = _changed(git, meant.old, entries)
        MovedTree(land, held, meant).undo()
        if not names:
            why = f"{place}, and git refuses to move it ({error.message})"
            return InTheWay(why=why, way=f"mend that; {_BY_ITSELF}")
        why = f"{place} with changes to {some(names, _FEW)}"
        return InTheWay(why=why, way=f"commit or stash them; {_BY_ITSELF}")
    return MovedTree(land, held, meant)


def _git_over(land: LandRepository, index: Path, root: str, how: Mapping[str, str]) -> Git:
    """Fleet's git over a directory, that writes files as these settings say."""
    there = Repository(root=root, git_dir=land.own.git_dir, common_dir=land.own.git_dir)
    return land.git.at(there, str(index)).with_settings(how)


def _persons_settings(held: HeldIndex, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """How the person's git writes files, with the attributes that stand outside of the tree."""
    settings = settings_of(held.repo) if settings is None else settings
    paths = (
        users_file(settings, "attributes"), f"{held.repo.common_dir}/info/attributes",
    )  # fmt: skip
    found = [lenient_read.read(path, _LARGEST) for path in paths]
    text = b"\n".join(each.data for each in found if each is not None and each.whole)
    place = held.folder / "attributes"
    place.write_bytes(text)
    plain = {f"core.{name}" for name in PLAIN} & settings.keys()
    return {**{name: settings[name] for name in plain}, "core.attributesFile": str(place)}


def _filtered(
    land: LandRepository,
    held: HeldIndex,
    new: str,
    entries: Sequence[TreeEntry],
    settings: Mapping[str, str],
) -> str:
    """A file to be written that a filter of the person's git is asked for; empty: none. A name
    without such a filter means nothing to git.
    """
    filters = {name.split(".", 1)[1].rpartition(".")[0] for name in settings if _is_filter(name)}
    paths = [each.path for each in entries if each.new and each.new_mode != _GITLINK]
    if not filters or not paths:
        return ""
    index = held.folder / "attributed"
    git = _git_over(land, index, str(held.folder), _persons_settings(held, settings))
    git.ask("read-tree", new)
    feed = b"".join(path + b"\0" for path in paths)
    parts = git.ask("check-attr", "-z", "--cached", "--stdin", "filter", feed=feed).split(b"\0")
    for path, value in zip(parts[::3], parts[2::3], strict=False):
        if os.fsdecode(value) in filters:
            return shown(path)
    return ""


def _is_filter(name: str) -> bool:
    return name.startswith("filter.") and name.endswith((".smudge", ".process", ".clean"))


def _changed(git: Git, old: str, entries: Collection[TreeEntry]) -> list[str]:
    """The files to be written that a person has changed."""
    ask = ("diff-index", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", old)
    mine = set(git.ask(*ask).split(b"\0"))
    return sorted(shown(each.path) for each in entries if each.path in mine)


def _untracked(root: bytes, entries: Collection[TreeEntry]) -> list[str]:
    """What stands where a new file is to be, and is not removed with the old ones. Git itself would
    overwrite what it ignores.
    """
    gone = {entry.path for entry in entries if not entry.new}
    new = [each.path for each in entries if not each.old and each.new_mode != _GITLINK]
    return sorted({shown(found) for path in new if (found := _obstacle(root, path, gone))})


def _obstacle(root: bytes, path: bytes, gone: Collection[bytes]) -> bytes:
    parts = path.split(b"/")
    for end in range(1, len(parts)):
        above = b"/".join(parts[:end])
        place = os.path.join(root, above)  # noqa: PTH118
        if not os.path.lexists(place):
            return b""
        if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114
            return b"" if above in gone else above
    place = os.path.join(root, path)  # noqa: PTH118
    if not os.path.lexists(place):
        return b""
    if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114
        return b"" if path in gone else path
    return next((each for each in _files(root, path) if each not in gone), b"")


def _files(root: bytes, path: bytes) -> Iterator[bytes]:
    """What is below a directory, empty directories included."""
    top = os.fsdecode(root)
    for place, folders, names in walk(os.fsdecode(os.path.join(root, path))):  # noqa: PTH118
        inside = os.path.relpath(place, top)
        links = [name for name in folders if os.path.islink(f"{place}/{name}")]  # noqa: PTH114
        yield from (os.fsencode(os.path.normpath(f"{inside}/{name}")) for name in (*names, *links))
        if not names and not folders:
            yield os.fsencode(inside)


# After a move that was cut off.


def _bring_files(land: LandRepository, held: HeldIndex, there: str, to: str) -> None:
    """Bring the files that are as `there` has them, or half written, to what `to` has. A file that
    is otherwise is a person's. The person's index is at `to` for all of them. Raises GitFailed and
    OSError.
    """
    root = Path(held.repo.root)
    held.copy_index()
    git = _git_over(land, held.index, held.repo.root, _persons_settings(held))
    git.judge("update-index", "-q", "--refresh")
    ask = ("-z", "--name-only", "--no-renames", "--ignore-submodules=all")
    differs = set(git.ask("diff-files", *ask).split(b"\0"))
    # What a person staged by another hand is left alone.
    staged = set(git.ask("diff-index", "--cached", *ask, to).split(b"\0"))
    entries = [each for each in tree_entries(land.git, there, to) if each.path not in staged]
    files = [each for each in entries if _GITLINK not in (each.old_mode, each.new_mode)]
    moved = [each for each in files if each.path in differs or not each.new]
    written = _written(land, held, there, [each.path for each in moved if each.old])
    # What is to go makes room first: a directory may have been a file.
    for each in moved:
        if not each.new and _is_written(root, written, each.path):
            _remove(root, each.path)
    back = [each.path for each in moved if each.new and _is_written(root, written, each.path)]
    if back:
        feed = b"".join(path + b"\0" for path in back)
        git.ask("checkout-index", "--force", "--quiet", "-z", "--stdin", feed=feed)


def _written(land: LandRepository, held: HeldIndex, commit: str, paths: Sequence[bytes]) -> Path:
    """A directory with these files of a commit, written as the person's git does."""
    place = held.folder / "written"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    if paths:
        index = held.folder / "attributed"
        git = _git_over(land, index, str(place), _persons_settings(held))
        git.ask("read-tree", commit)
        feed = b"".join(path + b"\0" for path in paths)
        git.ask("checkout-index", "--force", "--quiet", "-z", "--stdin", feed=feed)
    return place


def _is_written(root: Path, written: Path, path: bytes) -> bool:
    """Whether a file is gone, or is as git writes it or began to."""
    name = os.fsdecode(path)
    file, whole = root / name, written / name
    if any(each.is_symlink() for each in file.parents if each != root and root in each.parents):
        return False
    if not os.path.lexists(file):
        return True
    kind, wanted = _kind(file), _kind(whole)
    if kind != wanted or kind not in (stat.S_IFREG, stat.S_IFLNK):
        return False
    if kind == stat.S_IFLNK:
        return file.readlink() == whole.readlink()
    with file.open("rb") as now, whole.open("rb") as begun:
        while data := now.read(_LARGEST):
            if begun.read(len(data)) != data:
                return False
    return True


def _kind(path: Path) -> int:
    """The kind of a file; 0: there is none."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _remove(root: Path, path: bytes) -> None:
    """Remove a file, and the directories that held nothing else, as git does."""
    file = root / os.fsdecode(path)
    if os.path.lexists(file):
        file.unlink()
    for folder in file.parents:
        try:
            folder.rmdir()
        except OSError:
            return
