"""A git directory of fleet's own for each working tree: `repositories/<key>.git` in the home.

Snapshots, differences and checkouts are made with this directory. Its configuration is fleet's, so
git finds no hook, filter, driver or monitor in it, whatever the attributes of the files ask for.
The objects of the project's own repository can be read as alternates; what fleet stores is here.
The directory for a task's clone borrows from the project that the clone was made of, and never from
the clone: an agent writes there, and git does not hash what it reads from packs.
"""

import hashlib
import os
import re
from pathlib import Path

from fleet.files import lenient_read
from fleet.files.atomic_write import write_atomically
from fleet.git import repository
from fleet.git.own.fresh_git_dir import HEAD, configuration, make_folders
from fleet.git.repository import GitFailed, Repository, read_whole
from fleet.home import CLONES

FOLDER = "repositories"
_SHA256 = re.compile(rb"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)
#: How many object directories are followed from one to the next, as git does.
_MOST_STORES = 20
_LARGEST = 1 << 20


def own_repository(home: Path, repo: Repository, *, root: str = "") -> Repository:
    """Fleet's git directory over the working tree of `repo`, made if there is none; with `root`
    over that one, a clone of `repo`.

    Where the project's objects are is read now: call this while no agent is at work in the project
    itself, or use `known_repository`. Raises GitFailed if the project's configuration cannot be
    read.
    """
    if f"{repo.root}/".startswith(f"{os.path.realpath(home / CLONES)}/"):
        raise GitFailed(f"{repo.root} is a clone: fleet's store borrows from its project alone")
    known = known_repository(home, root or repo.root)
    own = Path(known.git_dir)
    make_folders(own)
    sha256 = bool(_SHA256.search(repository.configuration(repo)))
    _put(own / "config", configuration(sha256=sha256).encode())
    _put(own / "HEAD", HEAD.encode())
    stores = "".join(f"{store}\n" for store in object_stores(repo))
    _put(own / "objects/info/alternates", os.fsencode(stores))
    _put(own / "shallow", read_whole(f"{repo.common_dir}/shallow"))
    return known


def known_repository(home: Path, root: str) -> Repository:
    """Where fleet's git directory for the working tree with this top is. Reads and makes
    nothing.
    """
    return repository_at(home, key_of(root), root)


def repository_at(home: Path, key: str, root: str) -> Repository:
    """Where fleet's git directory is, for a working tree whose key is known."""
    own = os.path.realpath(home / FOLDER / f"{key}.git")
    return Repository(root=root, git_dir=own, common_dir=own)


def stores_of(own: Repository) -> tuple[str, ...]:
    """The object directories that fleet's git directory reads: own ones, and the recorded ones."""
    borrowed = os.fsdecode(read_whole(f"{own.git_dir}/objects/info/alternates")).splitlines()
    return (f"{own.git_dir}/objects", *borrowed)


def object_stores(repo: Repository) -> list[str]:
    """The object directories of a project: own ones, and borrowed ones. Raises
    GitFailed.
    """
    found: list[str] = []
    waiting = [f"{repo.common_dir}/objects"]
    while waiting and len(found) < _MOST_STORES:
        store = os.path.realpath(waiting.pop(0))
        if store in found or "\n" in store:
            continue
        found.append(store)
        lines = os.fsdecode(read_whole(f"{store}/info/alternates")).splitlines()
        borrowed = [line for line in lines if line and not line.startswith("#")]
        waiting += [os.path.join(store, line) for line in borrowed]  # noqa: PTH118
    return found


def key_of(root: str) -> str:
    """A name for a working tree, from the real path. Pure."""
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def _put(path: Path, data: bytes) -> None:
    """Write a file unless the content is the same; without content there is no file."""
    if not data:
        path.unlink(missing_ok=True)
    elif (now := lenient_read.read(path, _LARGEST)) is None or now.data != data:
        write_atomically(path, data, durable=False)
