"""Copies objects between repositories: a project's, fleet's own, and those of clones.

A project keeps what its commits hold. Staged files, and files of commits that are dropped later,
are collected by its next `git gc`, so a snapshot has copies of them.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from fleet.git.git_command import Git, GitFailed
from fleet.git.repository import Repository

_NONE = b"0"
#: Where the header of a pack counts its objects, in four bytes.
_COUNT = 8
_SUBMODULE = b"160000"
#: A pack of new work that is larger is refused.
_LARGEST = 4 << 30


def keep_objects(git: Git, tree: str, held: str) -> None:
    """Keep every object of a tree that `held`, a commit which stays in the project, does not hold.

    `git` is in fleet's own repository. `held` may be empty.
    """
    ask = ("diff-tree", "-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames", "--root")
    if held:
        entries = git.ask(*ask, held, tree).split(b"\0")[::2]
        found = {entry.split(b" ")[3] for entry in entries if _is_object(entry)}
    else:
        listed = git.ask("ls-tree", "-r", "-t", "-z", tree).split(b"\0")
        found = {entry.split(b"\t")[0].split(b" ")[2] for entry in listed if entry}
    found.add(tree.encode())
    store = Path(git.repo.git_dir) / "objects"
    missing = [name for name in sorted(found) if not _is_loose(store, name.decode())]
    if missing:
        pack = str(store / "pack/pack")
        git.ask("pack-objects", "-q", pack, feed=b"".join(name + b"\n" for name in missing))


def give_objects(git: Git, repo: Repository, want: str, *have: str) -> None:
    """Copy a tree or commit of fleet's own repository into the project's, which has the commits
    `have`.
    """
    if want in have:
        return
    lines = "".join(f"^{commit}\n" for commit in have)
    pack = f"{repo.common_dir}/objects/pack/pack"
    git.ask("pack-objects", "-q", "--revs", pack, feed=f"{want}\n{lines}".encode())


def copy_commits(git: Git, commits: Iterable[str], known: bytes, objects: str) -> None:
    """Copy the objects behind these commits into a directory of objects. git counts each name from
    the bytes, whatever the source calls them.

    `known` has a line `^COMMIT` for each commit that is there. Raises GitFailed, and then nothing
    refers to what was copied.
    """
    feed = "".join(f"{each}\n" for each in commits).encode() + known
    ask = ("pack-objects", "--quiet", "--revs", "--stdout", "--delta-base-offset")
    with tempfile.TemporaryFile(dir=git.repo.git_dir) as file:
        if not git.write(file, _LARGEST, *ask, feed=feed):
            raise GitFailed(f"there is more than {_LARGEST >> 30} GiB of new work")
        file.flush()
        count = int.from_bytes(os.pread(file.fileno(), 4, _COUNT))
        os.lseek(file.fileno(), 0, os.SEEK_SET)  # git reads on from where the descriptor is
        if count:
            git.storing_in(objects).ask("index-pack", "--stdin", "--strict", feed=file)


def _is_object(entry: bytes) -> bool:
    parts = entry.split(b" ")
    return len(parts) > 3 and parts[1] != _SUBMODULE and parts[3].strip(_NONE) != b""


def _is_loose(store: Path, name: str) -> bool:
    return (store / name[:2] / name[2:]).exists()
