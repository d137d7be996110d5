"""The git directory of a clone, which the agent may have written, read as plain files.

git is never started in it: its configuration, hooks, alternates and `commondir` would take part.
Object files are linked into a directory of fleet's own, where only objects count.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.files.agent_place import AgentEntry, AgentPlace
from fleet.git.repository import COMMIT

_FAN_OUT = re.compile(r"[0-9a-f]{2}")
_LOOSE = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACK = re.compile(r"pack-[0-9a-f]+\.(?:pack|idx)")
_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"
#: How much of HEAD, of one ref and of packed-refs is read, and how many branches count.
_SMALL, _LARGE, _MOST_BRANCHES = 4 << 10, 16 << 20, 200
#: What `git stash` keeps, one line each, and how many count.
_STASH_LOG, _MOST_STASHES = "logs/refs/stash", 50
#: How many files of objects are linked. More are a sign that nothing here is as it should be.
_MOST_OBJECTS = 1_000_000
#: Signs of work that git itself has not finished.
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


class AgentHead(Struct, frozen=True, kw_only=True):
    """What a clone has checked out, by the clone's own files."""

    #: The commit that HEAD leads to; empty if that cannot be read.
    commit: str = ""
    #: All branches with their commits, by name without `refs/heads/`.
    branches: dict[str, str] = {}
    #: The commits that branches of remotes lead to: what was fetched.
    fetched: frozenset[str] = frozenset()
    #: The commits of `git stash`, the latest first.
    stashes: tuple[str, ...] = ()
    #: What is odd about the git directory, as sentences for a person.
    oddities: tuple[str, ...] = ()


def is_git_dir(place: Path) -> bool:
    """A directory with a HEAD, which git would take for a repository; no link."""
    return _is_dir(place) and os.path.lexists(place / "HEAD") and _is_dir(place / "objects")


def read_head(git_dir: Path) -> AgentHead:
    """The commit and the branches of a clone. Raises nothing: odd things are told."""
    odd: list[str] = []
    dot = _Dot(git_dir)
    branches = dict(_refs(dot, _HEADS, odd))
    text = dot.text("HEAD", _SMALL, odd)
    name = text.removeprefix("ref:").strip()
    if not text.startswith("ref:"):
        commit = name if re.fullmatch(COMMIT, name) else ""
    else:
        commit = branches.get(name.removeprefix(_HEADS), "") if name.startswith(_HEADS) else ""
    stashes = tuple(_stashes(dot, odd))
    fetched = frozenset(commit for _, commit in _refs(dot, _REMOTES, odd))
    return AgentHead(
        commit=commit, branches=branches, fetched=fetched, stashes=stashes, oddities=tuple(odd)
    )


def unfinished(git_dir: Path) -> str:
    """What holds work that no commit has: a merge half done, submodules, large files of git-lfs."""
    dot = _Dot(git_dir)
    if name := begun(git_dir):
        return f"work that git has not finished ({name})"
    if any(dot.files("modules")):
        return "submodules"
    if any(dot.files("lfs/objects")) or any(dot.files("annex")):
        return "large files that git keeps outside of its objects"
    return ""


def begun(git_dir: Path) -> str:
    """The file in which git notes that something was begun and not finished; or nothing."""
    dot = _Dot(git_dir)
    return next((name for name in _UNFINISHED if dot.has(name)), "")


def may_store(git_dir: Path, commit: str) -> bool:
    """Whether a clone may have the object of a commit in a file of its own: in a loose one, or in
    a pack, which is not opened here.
    """
    dot = _Dot(git_dir)
    if dot.has(f"objects/{commit[:2]}/{commit[2:]}"):
        return True
    return any(_PACK.fullmatch(_last(entry)) for entry in dot.entries("objects/pack"))


def link_objects(git_dir: Path, into: Path) -> int:
    """Link or copy the object files of a clone, and nothing else, into an object directory.

    Returns how many. Raises FleetError if there are too many.
    """
    dot, found = _Dot(git_dir), 0
    for folder in dot.entries("objects"):
        kind = _last(folder)
        if not (folder.is_directory and (_FAN_OUT.fullmatch(kind) or kind == "pack")):
            continue
        wanted = _PACK if kind == "pack" else _LOOSE
        place = into / kind
        place.mkdir(mode=0o700, exist_ok=True)
        for entry in dot.entries(f"objects/{kind}"):
            name = _last(entry)
            if entry.is_file and wanted.fullmatch(name):
                found += dot.clone.link(entry.name, place / name)
                if found > _MOST_OBJECTS:
                    raise FleetError(f"{git_dir} holds more than {_MOST_OBJECTS:,} objects")
    return found


class _Dot:
    """A clone's git directory, which may be a link by now: nothing in it is reached through one."""

    def __init__(self, git_dir: Path) -> None:
        self.clone, self._name = AgentPlace(git_dir.parent), git_dir.name

    def has(self, name: str) -> bool:
        return self.clone.look(f"{self._name}/{name}") is not None

    def entries(self, name: str) -> list[AgentEntry]:
        return self.clone.entries(f"{self._name}/{name}")

    def files(self, folder: str) -> Iterator[str]:
        """The plain files below a directory, by their names below the git directory."""
        for entry in self.clone.walk(f"{self._name}/{folder}"):
            if entry.is_file:
                yield entry.name.removeprefix(f"{self._name}/")

    def text(self, name: str, limit: int, odd: list[str]) -> str:
        try:
            data = self.clone.read(f"{self._name}/{name}", limit)
        except InvalidTask as error:
            odd.append(error.message)
            return ""
        return (data or b"").decode(errors="replace")


def _last(entry: AgentEntry) -> str:
    return entry.name.rpartition("/")[2]


def _refs(dot: _Dot, below: str, odd: list[str]) -> Iterator[tuple[str, str]]:
    """Branches from packed-refs, and then from the files of single refs, which count more. Their
    names begin `below`, which is left off.
    """
    left = _MOST_BRANCHES
    for line in dot.text("packed-refs", _LARGE, odd).splitlines():
        commit, _, name = line.partition(" ")
        if name.startswith(below) and re.fullmatch(COMMIT, commit):
            yield name.removeprefix(below), commit
    for name in sorted(dot.files(below.rstrip("/"))):
        commit = dot.text(name, _SMALL, odd).strip()
        if re.fullmatch(COMMIT, commit):
            yield name.removeprefix(below), commit
            left -= 1
        if left <= 0:
            odd.append(f"it has more than {_MOST_BRANCHES} branches")
            return


def _stashes(dot: _Dot, odd: list[str]) -> Iterator[str]:
    """The commits in the log of `refs/stash`, from which git takes what is popped or dropped."""
    lines = dot.text(_STASH_LOG, _LARGE, odd).splitlines()
    for line in reversed(lines[-_MOST_STASHES:]):
        commit = line.partition("\t")[0].split(" ")[1:2]
        if commit and re.fullmatch(COMMIT, commit[0]):
            yield commit[0]


def _is_dir(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
