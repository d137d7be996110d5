"""What the project's directory shares with copies: links to what git does not hold.

A project names paths like `.venv` or `node_modules` (`share`). A clone or a checkout gets a link to
each of them, so what is behind the link is trusted as it stands.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct


class SharedPath(Struct, frozen=True, kw_only=True):
    """One link to be made."""

    link: str
    target: str


def shared_paths(project: str, share: Sequence[str], copy: str) -> Iterator[SharedPath]:
    """The links for a copy of the project's directory. Pure."""
    for path in share:
        inside = os.path.normpath(path)
        yield SharedPath(link=f"{copy}/{inside}", target=f"{project}/{inside}")


def link_shared(project: str, share: Sequence[str], copy: str) -> tuple[str, ...]:
    """Make the links to what exists; returns their paths below the copy.

    What the copy has itself stays: git holds it. A directory on the way that is a link is not
    followed, since it may lead out of the copy.
    """
    made: list[str] = []
    root = os.path.realpath(copy)
    for each in shared_paths(project, share, copy):
        link = Path(each.link)
        if os.path.lexists(link) or not os.path.exists(each.target):  # noqa: PTH110
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.realpath(f"{link.parent}/").startswith(root):
            continue
        link.symlink_to(each.target)
        made.append(os.path.relpath(link, copy))
    return tuple(made)


def share_with_clone(project: str, share: Sequence[str], copy: str, clone: Path) -> None:
    """Make the links in a fresh clone, and have git ignore them there.

    A rule like `.venv/` is for directories and does not match a link.
    """
    made = link_shared(project, share, copy)
    inside = os.path.relpath(os.path.realpath(copy), os.path.realpath(clone))
    rules = "".join(f"/{os.path.normpath(f'{inside}/{path}')}\n" for path in made)
    if rules:
        with (clone / ".git/info/exclude").open("a", encoding="utf-8") as file:
            file.write(f"\n{rules}")
