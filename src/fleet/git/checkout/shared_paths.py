"""What the project's directory shares with copies: links to what git does not hold.

A project names paths like `.venv` or `node_modules` (`share`). A clone or a checkout gets a link to
each of them, so what is behind the link is trusted as it stands.
"""

import os
from collections.abc import Sequence
from pathlib import Path


def link_shared(project: str, share: Sequence[str], copy: str) -> tuple[str, ...]:
    """Make the links to what exists; returns their paths below the copy.

    What the copy has itself stays: git holds it. A directory on the way that is a link is not
    followed, since it may lead out of the copy.
    """
    made: list[str] = []
    root = os.path.realpath(copy)
    for inside in map(os.path.normpath, share):
        link, target = Path(copy, inside), f"{project}/{inside}"
        if os.path.lexists(link) or not os.path.exists(target):  # noqa: PTH110
            continue
        if not f"{os.path.realpath(link.parent)}/".startswith(f"{root}/"):
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
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
