"""Merges two trees in memory: `git merge-tree`, with the answer as values.

Only git's own ways of merging take part (`merge=union`, `-merge`), as `.gitattributes` at the top
of the line asks for them. Any other driver is a command of a configuration that fleet's git does
not read, so the file is merged as text.
"""

import hashlib
from pathlib import Path

from msgspec import Struct

from fleet.files.atomic_write import write_atomically
from fleet.git.commit_object import write_commit
from fleet.git.commit_words import FLEET
from fleet.git.git_command import Git
from fleet.git.refs import merge_base
from fleet.git.repository import shown

#: How much of git's words is kept, in characters.
_LONGEST = 20_000
_ATTRIBUTES = ".gitattributes"
_LARGEST = 1 << 20


class TreeConflict(Struct, frozen=True, kw_only=True):
    """Two sides that git cannot merge."""

    #: Names as a person reads them.
    files: tuple[str, ...]
    text: str
    #: Both sides with conflict markers; empty if git made none.
    tree: str = ""


def merge_commits(git: Git, ours: str, theirs: str, base: str | None = None) -> str | TreeConflict:
    """The tree of two commits merged by their history; `base`: the commit that both share, if
    known.
    """
    if not (merge_base(git, ours, theirs) if base is None else base):
        text = f"{theirs[:12]} has no commit in common with {ours[:12]}"
        return TreeConflict(files=(), text=f"{text}: its history is another one, or is cut off")
    return _merge(git, ours, theirs)


def merge_over(git: Git, base: str, ours: str, theirs: str) -> str | TreeConflict:
    """The tree of two trees merged over a third, which both come from."""
    if ours == base:
        return theirs
    # Git before 2.40 takes the base from the history alone: so this is one.
    root = _stand_in(git, base, ())
    return _merge(git, _stand_in(git, ours, (root,)), _stand_in(git, theirs, (root,)))


def _stand_in(git: Git, tree: str, parents: tuple[str, ...]) -> str:
    return write_commit(git, tree, *parents, message="a side of a merge", author=FLEET, at=0)


def _merge(git: Git, ours: str, theirs: str) -> str | TreeConflict:
    ask = ("merge-tree", "--write-tree", "-z", "--name-only", "--messages")
    clean, out = _with_attributes(git, ours).judge(*ask, ours, theirs)
    tree, files, text = parse_merge(out)
    if clean:
        return tree
    return TreeConflict(files=files, text=text[:_LONGEST], tree=tree)


def _with_attributes(git: Git, line: str) -> Git:
    """A git with the attributes of a commit, which `merge-tree` does not read unasked."""
    text = git.file(f"{line}:{_ATTRIBUTES}", _LARGEST)
    if text is None:
        return git
    name = hashlib.sha256(text).hexdigest()[:16]
    place = Path(git.repo.git_dir) / f"attributes-{name}"
    if not place.exists():
        write_atomically(place, text, durable=False)
    return git.with_settings({"core.attributesFile": str(place)})


def parse_merge(out: bytes) -> tuple[str, tuple[str, ...], str]:
    """Tree, conflicting files and messages from `merge-tree -z --name-only --messages`. Pure."""
    tree, _, rest = out.partition(b"\0")
    parts = rest.split(b"\0")
    end = parts.index(b"") if b"" in parts else len(parts)
    files = tuple(dict.fromkeys(map(shown, parts[:end])))
    messages: list[str] = []
    # Each message: how many paths, the paths, the kind, the words.
    at = end + 1
    while at < len(parts) and parts[at].isdigit():
        at += int(parts[at]) + 2
        if at < len(parts):
            messages.append(parts[at].decode(errors="backslashreplace"))
        at += 1
    return tree.decode().strip(), files, "".join(messages).rstrip("\n")


class MergedSides(Struct, frozen=True, kw_only=True):
    """Two sides merged as far as git can: with markers where git cannot."""

    tree: str
    #: The sides of what git could not merge, as `mode object stage<tab>name`.
    stages: tuple[bytes, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that git could not merge, as a person reads their names."""
        return tuple(dict.fromkeys(shown(each.partition(b"\t")[2]) for each in self.stages))


def merge_sides(git: Git, ours: tuple[str, str], theirs: tuple[str, str]) -> MergedSides:
    """Merge two commits; each comes with the name for markers, and the second is that of the line.
    Raises GitFailed.

    `git` is in a directory that is thrown away: refs are made there for the names.
    """
    # Not in one place: `fleet` and `fleet/x` cannot both be branches.
    for place, (name, commit) in (("heads", ours), ("tags", theirs)):
        git.ask("update-ref", "--no-deref", f"refs/{place}/{name}", commit)
    ask = ("merge-tree", "--write-tree", "-z", "--no-messages")
    style = ("-c", "merge.conflictStyle=zdiff3")
    _, out = _with_attributes(git, theirs[1]).judge(*style, *ask, ours[0], theirs[0])
    tree, *stages = out.split(b"\0")
    return MergedSides(tree=tree.decode().strip(), stages=tuple(each for each in stages if each))
