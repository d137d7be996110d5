"""Copies commits from one repository's objects into another's; git counts every name anew."""

from collections.abc import Iterable
from pathlib import Path

from fleet.git.git_command import Git, GitFailed

#: A pack of new work that is larger is refused.
_LARGEST = 4 << 30


def copy_commits(git: Git, commits: Iterable[str], known: bytes, objects: str, pack: Path) -> None:
    """Copy the objects behind these commits into a directory of objects.

    `known` has a line `^COMMIT` for each commit that is there. `pack` is a file to use meanwhile.
    Raises GitFailed, and then nothing refers to what was copied.
    """
    feed = "".join(f"{each}\n" for each in commits).encode() + known
    ask = ("pack-objects", "--quiet", "--revs", "--stdout", "--delta-base-offset")
    with pack.open("wb") as file:
        if not git.write(file, _LARGEST, *ask, feed=feed):
            raise GitFailed(f"there is more than {_LARGEST >> 30} GiB of new work")
    with pack.open("rb", buffering=0) as file:  # git reads on from where the descriptor is
        count = int.from_bytes(file.read(12)[8:])
        file.seek(0)
        if count:
            git.storing_in(objects).ask("index-pack", "--stdin", "--strict", feed=file)
