"""What the project's directory shares with copies: links to what git does not hold.

A project names paths like `.venv` or `node_modules` (`share`). A clone or a checkout gets a link to
each of them, so what is behind the link is trusted as it stands. The links of a clone are written
down in its record: whatever reads the clone's files leaves these paths out, because a rule like
`.venv/` is for directories and does not match a link.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

#: What has a meaning of its own in a line of `info/exclude`, and how it is escaped.
_SPECIAL, _ESCAPED = re.compile(r"([\\*?\[\] ])"), r"\\\1"


def link_shared(project: str, share: Sequence[str], copy: str) -> tuple[str, ...]:
    """Make the links to what exists; returns the paths below the copy that are such links.

    What the copy has itself stays: git holds it. A directory on the way that is a link is not
    followed, since it may lead out of the copy.
    """
    made: list[str] = []
    for link, target in _planned(project, share, copy):
        if not is_link_to(link, target):
            if os.path.lexists(link):
                continue
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
        made.append(os.path.relpath(link, copy))
    return tuple(made)


def unshared(project: str, share: Sequence[str], copy: str, clone: Path) -> tuple[str, ...]:
    """The paths below the clone where `link_shared` would make a link."""
    inside = os.path.relpath(os.path.realpath(copy), os.path.realpath(clone))
    missing = (link for link, _ in _planned(project, share, copy) if not os.path.lexists(link))
    return tuple(os.path.normpath(f"{inside}/{os.path.relpath(link, copy)}") for link in missing)


def share_with_clone(
    project: str, share: Sequence[str], copy: str, clone: Path, shared: Sequence[str]
) -> None:
    """Make the links in a fresh clone, and have the agent's git ignore what is `shared` there."""
    link_shared(project, share, copy)
    if shared:
        with (clone / ".git/info/exclude").open("ab") as file:
            file.write(b"\n" + exclude_lines(shared))


def _planned(project: str, share: Sequence[str], copy: str) -> Iterator[tuple[Path, str]]:
    """Each link that can be, with what it leads to."""
    root = os.path.realpath(copy)
    for inside in map(os.path.normpath, share):
        link, target = Path(copy, inside), f"{project}/{inside}"
        is_inside = f"{os.path.realpath(link.parent)}/".startswith(f"{root}/")
        if is_inside and os.path.exists(target):  # noqa: PTH110
            yield link, target


def exclude_lines(shared: Iterable[str]) -> bytes:
    """Lines of `info/exclude` that match these paths and no others. Pure."""
    return b"".join(os.fsencode(f"/{_SPECIAL.sub(_ESCAPED, path)}\n") for path in shared)


def is_link_to(path: Path | str, target: str) -> bool:
    """The path is a link with exactly this text."""
    try:
        return os.readlink(path) == target  # noqa: PTH115
    except OSError:
        return False
