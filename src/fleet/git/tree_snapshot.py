"""A working tree as a git tree, with changes that are not committed and new files.

Neither the user's files nor the user's index are changed: git works on a copy of the index, and
reads and stores only what differs from it. That takes about as long as `git status`.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from fleet.files.agent_place import AgentFile, AgentPlace
from fleet.git.git_command import Git
from fleet.git.own.left_out import mark_of, quick_mark
from fleet.git.repository import Repository
from fleet.git.unusual_files import LARGEST, MOST_BYTES, MOST_FILES, is_secret
from fleet.git.user_settings import ignore_rules

#: How the folders of copied indexes begin, in the directory for temporary files.
_COPIES = "fleet-index-"
#: An index of ten million files is not larger.
_LARGEST_INDEX = 1 << 30
#: Beside a kept index: the ignore rules of that moment, with this suffix.
RULES = ".exclude"
_GITLINK = b"160000"


class TreeSnapshot(Struct, frozen=True, kw_only=True):
    """A working tree that was stored."""

    id: str
    #: Files that are not stored, each with a mark that changes with the file.
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    #: Files of `left_out` that are too large, or cannot be read.
    large: tuple[str, ...] = ()
    #: There are too many new files, so none of them is stored.
    no_new: bool = False
    #: Files that a commit of the agent holds and the tree lacks; they are in the snapshot.
    kept: tuple[str, ...] = ()


class Committed(Struct, frozen=True, kw_only=True):
    """The last commit of an agent, from which a snapshot removes nothing."""

    commit: str
    #: Submodules that the agent's commits moved: they stay as committed.
    links: frozenset[str] = frozenset()


class _Differing(Struct, frozen=True, kw_only=True):
    """How the files of a tree differ from the index."""

    #: Files with another content, and files that are gone.
    changed: list[str]
    #: What the index has as a file, and the tree as no file.
    gone: frozenset[str]
    #: Submodules among those that changed.
    links: frozenset[str]
    new: list[str]


@contextmanager
def copied_index(repo: Repository, source: AgentFile | None = None) -> Generator[Path]:
    """A copy of the repository's index, or of `source`, removed at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix=_COPIES))
    try:
        copy = folder / "index"
        # With its time, by which git knows which files to read again. A repository without a
        # commit has no index yet.
        original = source or AgentFile(AgentPlace(repo.git_dir), "index")
        original.place.copy_out(original.name, copy, _LARGEST_INDEX)
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def drop_left_copies(before: float) -> None:
    """Remove copies of indexes that a killed process left, if they are older than a time."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_COPIES}*"):
        with suppress(OSError):
            facts = folder.lstat()
            is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
            if is_ours and facts.st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def opened(
    own: Repository, repo: Repository, until: float, kept: Path | None = None
) -> Generator[tuple[Git, Path]]:
    """Git in fleet's own repository, over a copy of an index and with the project's ignore rules.

    The index is `kept` with the rules beside it, or else the project's of this moment. Yields the
    copy too.
    """
    source = AgentFile(AgentPlace(kept.parent), kept.name) if kept is not None else None
    with copied_index(repo, source) as index:
        rules = index.with_name("exclude")
        old = kept.with_name(f"{kept.name}{RULES}") if kept is not None else None
        if old is not None and old.exists():
            shutil.copyfile(old, rules)
        else:
            rules.write_bytes(ignore_rules(repo))
        share_index(own, repo)
        yield Git(own, until, str(index), ignore=str(rules)), index


def keep_index(index: Path, place: Path) -> None:
    """Copy an index to `place` in one step, with the time, and the ignore rules beside it."""
    rules = index.with_name("exclude")
    pairs = [(index, place)] if index.exists() else []
    if rules.exists():
        pairs.insert(0, (rules, place.with_name(f"{place.name}{RULES}")))
    for source, target in pairs:
        fresh = target.with_name(f".{target.name}")
        fresh.unlink(missing_ok=True)
        shutil.copy2(source, fresh)
        fresh.replace(target)


def share_index(own: Repository, repo: Repository) -> None:
    """Bring the shared part of a split index to where git looks for it."""
    theirs = AgentPlace(repo.git_dir)
    for part in theirs.find("sharedindex.*"):
        place = Path(own.git_dir) / part.name
        if not place.exists():
            theirs.copy_out(part.name, place, _LARGEST_INDEX)


def uncommitted(git: Git, head: str) -> set[bytes]:
    """The files that differ from a commit, in the index or in the tree, and new ones."""
    ask = ("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
    staged = ("diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=all", head)
    listed = git.ask(*ask) + git.ask(*staged)
    return {name for name in listed.split(b"\0") if name}


def take_snapshot(
    git: Git,
    *,
    without: Iterable[str] = (),
    shared: Sequence[str] = (),
    known: Mapping[str, str] = {},
    commit: str = "",
    committed: Committed | None = None,
) -> TreeSnapshot:
    """Store the working tree at this moment. `git` works on a separate index, which is up to date
    afterwards.

    What is below a directory in `without` is not read. New files in `known`, which an earlier
    snapshot left out with these marks, are left out, and so are new files at and below `shared`.
    Files that the commit `commit` has are stored whatever rule leaves others out. What `committed`
    names is part of what the index holds, and nothing of it is removed.
    """
    root = git.repo.root
    found = _differing(git)
    folders = tuple(f"{name.rstrip('/')}/" for name in (*without, *shared))
    passed_over = {*known, *shared}
    new = [name for name in found.new if name not in passed_over and not name.startswith(folders)]
    held = _missing_in_index(git, commit) if commit else set[str]()
    kept = frozenset[str]()
    if committed is not None and found.gone:
        kept = found.gone & _files_of(git, committed.commit)
    settled = kept | (found.links & committed.links) if committed is not None else kept
    changed = [name for name in found.changed if name not in settled] + sorted(held)
    left_out = {name: quick_mark(root, name) for name in _in_the_way(new, kept)}
    new = [name for name in new if name not in held and name not in left_out]
    unread = [name for name in changed if _trouble_with(f"{root}/{name}", tracked=True)]
    changed = [name for name in changed if name not in {*unread}]
    sizes = {name: _size(f"{root}/{name}") for name in new}
    secret = {name for name in new if is_secret(name)}
    large = unread + [name for name in new if _trouble_with(f"{root}/{name}", tracked=False)]
    left_out |= {name: mark_of(root, name) for name in (*sorted(secret), *large)}
    new = [name for name in new if name not in left_out]
    no_new = len(new) > MOST_FILES or sum(sizes[name] for name in new) > MOST_BYTES
    if no_new:
        left_out |= {name: quick_mark(root, name) for name in new}
        new = []
    # Git refuses to read files below a link that replaced a directory.
    _update(git, "--force-remove", [name for name in changed if name in found.gone])
    _update(git, "--remove", [name for name in changed + new if name not in found.gone])
    return TreeSnapshot(
        id=git.line("write-tree"),
        left_out=left_out,
        large=tuple(large),
        no_new=no_new,
        kept=tuple(sorted(kept)),
    )


def _update(git: Git, how: str, names: list[str]) -> None:
    if names:
        feed = b"".join(os.fsencode(name) + b"\0" for name in names)
        git.ask("update-index", "-z", "--add", "--replace", how, "--stdin", feed=feed)


def is_below_link(root: str, name: str) -> bool:
    """A directory on the way to a file of a tree is a link."""
    folder = os.path.dirname(name)  # noqa: PTH120
    while folder:
        if os.path.islink(f"{root}/{folder}"):  # noqa: PTH114
            return True
        folder = os.path.dirname(folder)  # noqa: PTH120
    return False


def _differing(git: Git) -> _Differing:
    """The files that differ from the index, and new files. A repository inside of this one, which
    git lists as its directory, is left out.
    """
    root = git.repo.root
    ask = ("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
    changed: dict[str, None] = {}
    gone: set[str] = set()
    new: list[str] = []
    for entry in git.ask(*ask).split(b"\0"):
        tag, name = entry[:2], os.fsdecode(entry[2:])
        if not name or name.endswith("/"):
            continue
        if tag == b"? ":
            new.append(name)
            continue
        changed[name] = None
        if tag == b"R " or is_below_link(root, name):
            gone.add(name)
    folders = [name for name in changed if _is_folder(f"{root}/{name}")]
    links = _links(git, folders) if folders else frozenset[str]()
    return _Differing(
        changed=list(changed), gone=frozenset(gone.union(folders) - links), links=links, new=new
    )


def _links(git: Git, names: list[str]) -> frozenset[str]:
    """The names that the index has as submodules, of these."""
    rows = git.ask("ls-files", "-z", "--stage").split(b"\0")
    found = {os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(_GITLINK)}
    return frozenset(found.intersection(names))


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def _in_the_way(new: Iterable[str], kept: Iterable[str]) -> Iterator[str]:
    """New files in whose place, or below which, a commit has files that stay. Pure."""
    kept = {*kept}
    folders = {name[:at] for name in kept for at, each in enumerate(name) if each == "/"}
    for name in new:
        above = {name[:at] for at, each in enumerate(name) if each == "/"}
        if name in folders or not above.isdisjoint(kept):
            yield name


def _files_of(git: Git, commit: str) -> set[str]:
    listed = git.ask("ls-tree", "-r", "-z", "--name-only", commit).split(b"\0")
    return {os.fsdecode(name) for name in listed if name}


def _missing_in_index(git: Git, commit: str) -> set[str]:
    """Files of a commit that the tree has and the index has not."""
    ask = ("diff-index", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=D")
    listed = git.ask(*ask, "--ignore-submodules=all", commit).split(b"\0")
    names = {os.fsdecode(name) for name in listed if name}
    return {name for name in names if os.path.lexists(f"{git.repo.root}/{name}")}


def _trouble_with(path: str, *, tracked: bool) -> bool:
    """Whether a file is too large or unreadable. A file that is gone is not."""
    try:
        about = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(about.st_mode):
        return False
    return (not tracked and about.st_size > LARGEST) or not os.access(path, os.R_OK)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
