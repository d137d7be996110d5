"""A checkout that was verified in, kept so that for the next tree only differences are written.

Writing a large tree takes seconds, and most of its files are as in the last one. A spare is used
for no more than that: what git did not write is removed, and a file is written again unless the
kernel says that nothing has touched it since (its inode, size, mode and times, of which a program
can set all but one). Whatever is in doubt makes the whole spare worthless, and the tree is written
from nothing.
"""

import os
import stat
import time
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.files.json_record import JsonRecord
from fleet.git.checkout.fresh_checkout import (
    ALL_CORES,
    FILES,
    INDEX,
    beside,
    is_made,
    make_checkout,
    make_git_dir,
    mark_made,
    remove_checkout,
    throw_away,
)
from fleet.git.git_command import Git, GitFailed
from fleet.git.repository import Repository
from fleet.git.tree_difference import changed_names
from fleet.schemas import Base

_CHECKOUT = "checkout"
_STRAYS = "strays"
_ATTRIBUTES = ".gitattributes"
_GITLINK = b"160000"
#: A file that was written so shortly before it was noted, in nanoseconds, may change once more
#: without another time: clocks of file systems tick every few milliseconds.
_TICKS = 50_000_000
_SECOND = 1_000_000_000

#: Inode, mode, size, and the times of the last write and of the last change of any kind.
_Stat = tuple[int, int, int, int, int]


class _Noted(Struct, frozen=True, kw_only=True):
    """The content of `checkout.files`: a checkout just after git had written it."""

    tree: str
    #: Files from before the last start of the machine may be cut off: it may have lost power.
    boot: str
    #: By path, and only those whose next change would show.
    files: dict[str, _Stat]
    #: The mode of each directory, and of the top.
    folders: dict[str, int]


#: A hundred bytes a file, of a tree with more files than git is used for.
_RECORD = JsonRecord(_Noted, limit=1 << 30)


def check_out(git: Git, tree: str, root: Path, now: Base, spare: Path, bin_: Path) -> None:
    """Make a checkout of a tree, out of the spare if there is one, that may be a spare in its turn.
    Arguments as for `make_checkout`. Raises GitFailed and OSError.
    """
    remove_checkout(root)
    if not take(git, spare, tree, root, now, bin_):
        make_checkout(git, tree, root, now)
        note_files(root, tree)


def note_files(root: Path, tree: str, *, until: int | None = None) -> None:
    """Note the state of a checkout's files before the first command runs there: a checkout without
    that note is not kept. `until`: files that changed later are not trusted. Raises OSError.
    """
    index = beside(root, INDEX)
    index.write_bytes((root / ".git" / "index").read_bytes())
    files: dict[str, _Stat] = {}
    folders: dict[str, int] = {}
    for path, about in _walk(root):
        if stat.S_ISDIR(about[1]):
            folders[path] = about[1]
        else:
            files[path] = about
    _note(root, tree, files, folders, until)


def keep(root: Path, spare: Path, bin_: Path) -> None:
    """Keep a checkout in which no command is at work any more, in place of the last one."""
    if not is_made(root) or not beside(root, FILES).exists():
        return
    if spare.exists():
        throw_away(spare, bin_)
    spare.mkdir(mode=0o700)
    root.rename(spare / _CHECKOUT)
    beside(root, INDEX).rename(spare / f"{_CHECKOUT}{INDEX}")
    # Last: a directory without this file does not count as a spare.
    beside(root, FILES).rename(spare / f"{_CHECKOUT}{FILES}")


def take(git: Git, spare: Path, tree: str, root: Path, now: Base, bin_: Path) -> bool:
    """Make the checkout of a tree out of the spare; False: there is none, or the spare is in doubt,
    and was removed. Arguments as for `make_checkout`.
    """
    noted = _noted(spare / f"{_CHECKOUT}{FILES}")
    try:
        differing = _differing(git, noted.tree, tree) if noted is not None else None
        if noted is None or differing is None:
            return False
        # First: a process that is killed from now on leaves no spare.
        (spare / f"{_CHECKOUT}{FILES}").unlink()
        (spare / f"{_CHECKOUT}{INDEX}").rename(beside(root, INDEX))
        (spare / _CHECKOUT).rename(root)
        untouched = _clear(root, noted, bin_)
        if untouched is None:
            return False
        same = {path: untouched[path] for path in untouched.keys() - differing}
        if _write(git, tree, root, noted, same):
            make_git_dir(git, tree, root, now)
            (root / ".git" / "index").write_bytes(beside(root, INDEX).read_bytes())
            mark_made(root)
    except (OSError, GitFailed):
        pass  # what cannot be made out of the spare is made anew
    finally:
        if spare.exists():
            throw_away(spare, bin_)
        if not is_made(root):
            with suppress(OSError):
                remove_checkout(root)
    return is_made(root)


def _differing(git: Git, before: str, after: str) -> set[str] | None:
    """The files that differ between two trees; None: files that are the same may have to be written
    in another way. Raises GitFailed.
    """
    found = set(map(os.fsdecode, changed_names(git, before, after)))
    return None if any(name.rpartition("/")[2] == _ATTRIBUTES for name in found) else found


def _clear(root: Path, noted: _Noted, bin_: Path) -> dict[str, _Stat] | None:
    """Remove all that is not as git wrote it; returns what is left. None: a directory
    was changed.
    """
    if root.lstat().st_mode != noted.folders[""]:
        return None
    strays = root.with_name(_STRAYS)
    strays.mkdir(mode=0o700)
    # The git directory, where commands may have written anything, is made anew.
    if os.path.lexists(root / ".git"):
        _take_out(root / ".git", strays / ".git")
    untouched: dict[str, _Stat] = {}
    others: list[str] = []
    for path, about in _walk(root, noted.folders):
        if noted.files.get(path) == about:
            untouched[path] = about
        elif path not in noted.folders or not stat.S_ISDIR(about[1]):
            others.append(path)
        elif noted.folders[path] != about[1]:
            return None
    for number, path in enumerate(others):
        _take_out(root / path, strays / str(number))
    throw_away(strays, bin_)
    return untouched


def _take_out(path: Path, to: Path) -> None:
    """Move what does not belong to a checkout. Who is not root may move a directory to another one
    only with the right to write in it. Raises OSError.
    """
    if stat.S_ISDIR(path.lstat().st_mode):
        path.chmod(0o700)
    path.rename(to)


def _write(git: Git, tree: str, root: Path, noted: _Noted, same: dict[str, _Stat]) -> bool:
    """Have git write all but the files that are the same, and note how they are; False: the result
    is not exactly the tree.
    """
    there = Repository(root=str(root), git_dir=git.repo.git_dir, common_dir=git.repo.common_dir)
    own = git.at(there, str(beside(root, INDEX))).with_settings(ALL_CORES)
    own.ask("read-tree", "--reset", "-u", tree)
    paths, links = _indexed(own)
    wanted = _with_parents({*links, *(path.rpartition("/")[0] for path in (*paths, *links))})
    gone = noted.folders.keys() - wanted - {*paths}
    if any(os.path.lexists(root / path) for path in gone):
        return False
    files = {path: same.get(path) or _stat(os.lstat(root / path)) for path in paths}
    folders = {path: _mode(root, path, noted) for path in wanted - {""}}
    kinds = (stat.S_ISREG(about[1]) or stat.S_ISLNK(about[1]) for about in files.values())
    if not all(kinds) or not all(map(stat.S_ISDIR, folders.values())):
        return False
    _note(root, tree, files, folders)
    return True


def _with_parents(folders: set[str]) -> set[str]:
    """Directories with all their parents, and the top."""
    found = {"", *folders}
    for path in folders:
        while path := path.rpartition("/")[0]:
            found.add(path)
    return found


def _mode(root: Path, path: str, noted: _Noted) -> int:
    return noted.folders.get(path) or os.lstat(root / path).st_mode


def _indexed(git: Git) -> tuple[list[str], list[str]]:
    """The files of an index, and the directories of submodules."""
    listed = git.ask("ls-files", "--stage", "-z")
    entries = [line.partition(b"\t") for line in listed.split(b"\0") if line]
    links = [os.fsdecode(name) for about, _, name in entries if about.startswith(_GITLINK)]
    gone = set(links)
    return [path for _, _, name in entries if (path := os.fsdecode(name)) not in gone], links


def _walk(root: Path, known: Container[str] | None = None) -> Iterator[tuple[str, _Stat]]:
    """Everything below a checkout but git's directory. Directories that are not `known` are not
    looked into: they go as a whole.
    """
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        with os.scandir(root / inside) as entries:
            for entry in entries:
                path = f"{inside}/{entry.name}" if inside else entry.name
                if path == ".git":
                    continue
                yield path, _stat(entry.stat(follow_symlinks=False))
                if entry.is_dir(follow_symlinks=False) and (known is None or path in known):
                    waiting.append(path)


def _stat(found: os.stat_result) -> _Stat:
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _note(
    root: Path,
    tree: str,
    files: Mapping[str, _Stat],
    folders: Mapping[str, int],
    until: int | None = None,
) -> None:
    end = time.time_ns() - _TICKS if until is None else until
    # A time without fractions is of a file system that knows whole seconds alone. Names that are no
    # text are written again each time.
    trusted = {
        path: about
        for path, about in files.items()
        if about[4] < end and about[4] % _SECOND and _is_text(path)
    }
    tops = {"": root.lstat().st_mode} | {path: folders[path] for path in filter(_is_text, folders)}
    noted = _Noted(tree=tree, boot=_boot(), files=trusted, folders=tops)
    _RECORD.write(beside(root, FILES), noted, durable=False)


def _noted(path: Path) -> _Noted | None:
    """What was noted since the machine's last start; None: nothing readable."""
    noted = _RECORD.read_or_none(path)
    return noted if noted is not None and noted.boot and noted.boot == _boot() else None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _boot() -> str:
    """A name for the time since the machine's last start; empty: there is none, and no spare is
    used.
    """
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""
