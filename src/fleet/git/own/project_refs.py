"""Reads and writes refs of a project's repository without the project's configuration, so without
hooks.

Git is given a directory of fleet's own, with links to the project's refs and their logs in it.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fleet.files.atomic_write import write_atomically
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.repository import GitFailed, Repository

FOLDER = "project"


def write_refs(
    own: Repository,
    repo: Repository,
    until: float,
    *,
    to: Mapping[str, str] = {},
    delete: Mapping[str, str] = {},
) -> None:
    """Point refs of the project to commits, and delete refs that stand at these commits.

    All of it or none: a ref that stands elsewhere by now is left alone. Raises GitFailed.
    """
    if has_table(repo):
        raise GitFailed(f"{repo.common_dir} keeps its refs in a table, which fleet cannot write")
    lines = [f"update {name}\0{commit}\0\0" for name, commit in to.items()]
    lines += [f"delete {name}\0{commit}\0" for name, commit in delete.items()]
    if lines:
        git = refs_of(own, repo, until)
        ask = ("update-ref", "--no-deref", "-m", "fleet", "-z", "--stdin")
        git.ask(*ask, feed=os.fsencode("".join(lines)))


def refs_of(own: Repository, repo: Repository, until: float) -> Git:
    """Git for the refs of a project alone. Raises GitFailed if they cannot be read."""
    if has_table(repo):
        return Git(repo, until)
    if os.path.islink(f"{repo.common_dir}/refs") or os.path.islink(f"{repo.common_dir}/refs/fleet"):  # noqa: PTH114
        raise GitFailed(f"{repo.common_dir}/refs leads elsewhere")
    place = Path(own.git_dir) / FOLDER
    place.mkdir(mode=0o700, exist_ok=True)
    # Git takes no link for a HEAD. The copy tells which branch's moves are logged for HEAD too.
    head = repository.read_bounded(f"{repo.git_dir}/HEAD") or b""
    write_atomically(place / "HEAD", head, durable=False)
    links = {
        "refs": f"{repo.common_dir}/refs",
        "packed-refs": f"{repo.common_dir}/packed-refs",
        "objects": f"{own.git_dir}/objects",
        "config": f"{own.git_dir}/config",
    }
    # A linked worktree has a log of its own for HEAD; a bare repository often has none at all.
    if repo.git_dir == repo.common_dir and os.path.isdir(f"{repo.common_dir}/logs"):  # noqa: PTH112
        links["logs"] = f"{repo.common_dir}/logs"
    for name, target in links.items():
        _link(place / name, target)
    return Git(Repository(root=repo.root, git_dir=str(place), common_dir=str(place)), until)


def has_table(repo: Repository) -> bool:
    """The project keeps refs in a table, of which only the project's configuration tells."""
    return b"reftable" in repository.configuration(repo).lower()


def _link(place: Path, target: str) -> None:
    with suppress(OSError):
        if os.readlink(place) == target:  # noqa: PTH115
            return
        place.unlink()
    with suppress(FileExistsError):  # by another thread
        place.symlink_to(target)
