"""What became of a merge that fleet began in a task's clone: the facts for the rules of landing.

Three trees are compared: the merge as git alone makes it, what the line has, and what the run left.
The objects of these are the project's and fleet's own. Of the clone's agent only its history is
read, and its git directory as plain files.
"""

import os
from collections.abc import Iterator

from msgspec import Struct

from fleet.errors import FleetError
from fleet.files.agent_place import AgentFile, AgentPlace
from fleet.git import tree_snapshot
from fleet.git.clone import agent_git_dir
from fleet.git.clone.collect_work import cloned_work, scratch_git
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.git_command import Git
from fleet.git.land.merge_trees import merge_sides
from fleet.git.refs import is_ancestor
from fleet.git.repository import shown
from fleet.git.tree_difference import tree_entries
from fleet.home import Home
from fleet.schemas import BegunMerge

_LIMIT = 60.0
#: More files are not compared line by line, nor are larger ones.
_MOST_FILES = 300
_LARGEST = 1 << 20
_OURS, _THEIRS = "ours", "theirs"


class Hunk(Struct, frozen=True, kw_only=True):
    """One place where what the run left differs from the merge that git alone makes."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class MergedFile(Struct, frozen=True, kw_only=True):
    """A file that differs from the merge that git alone makes."""

    path: str
    #: Lines that others landed in the file since the task began.
    landed: tuple[str, ...] = ()
    #: The lines of `landed` that the run's file has, in any place.
    still_there: frozenset[str] = frozenset()
    #: Lines that others took out of it.
    taken_out: tuple[str, ...] = ()
    #: How the run's file differs; empty where the file is not text, or not there.
    hunks: tuple[Hunk, ...] = ()
    #: Git could not merge the file: what it has of both sides is the agent's to decide.
    conflicted: bool = False
    #: Lines inside of conflict markers, which are the agent's to decide.
    in_conflict: tuple[str, ...] = ()
    #: The task had changed the file before the merge.
    touched_before: bool = False
    #: The run left the file as it was before others landed their work, byte for byte.
    as_before: bool = False
    #: The run left no such file, and the merge has one.
    gone: bool = False
    #: Lines with conflict markers: in what the run left, and in both sides and their base.
    markers: int = 0
    markers_before: int = 0


class MergeFacts(Struct, frozen=True, kw_only=True):
    """What became of a merge."""

    #: What git has not finished in the clone; empty if nothing.
    unfinished: str = ""
    #: What the clone has checked out contains the line.
    on_target: bool = True
    files: tuple[MergedFile, ...] = ()
    #: Lines that the run added in any file: what was moved is not lost.
    added: frozenset[str] = frozenset()
    #: How many files were too many or too large to be compared line by line.
    not_compared: int = 0


def merge_facts(home: Home, refs: TaskRefs, begun: BegunMerge, tree: str) -> MergeFacts:
    """The facts of a merge that a run was to finish; `tree` is what the run left.

    Raises FleetError.
    """
    work = cloned_work(home, refs)
    on_target = is_ancestor(work.git, begun.line, work.head)
    unfinished = _unfinished(home, refs)
    with scratch_git(home, refs, limit=_LIMIT) as git:
        found = _Comparison(git, begun, tree)
        files = tuple(found.files())
        added = frozenset(line for each in found.hunks.values() for h in each for line in h.added)
        return MergeFacts(
            unfinished=unfinished, on_target=on_target, files=files, added=added,
            not_compared=found.not_compared,
        )  # fmt: skip


def _unfinished(home: Home, refs: TaskRefs) -> str:
    """What git would go on with in the clone, or has unmerged in the index; empty if nothing."""
    dot = home.clone(refs.task_id) / ".git"
    if begun := agent_git_dir.begun(dot):
        return begun
    index, git = AgentFile(AgentPlace(dot.parent), f"{dot.name}/index"), refs.git
    try:
        with tree_snapshot.copied_index(git.repo, index) as copy:
            rows = git.at(git.repo, str(copy)).ask("ls-files", "-z", "--unmerged").split(b"\0")
    except (FleetError, OSError):
        return ""  # what lands is the tree that fleet stored, and not this index
    names = dict.fromkeys(shown(row.partition(b"\t")[2]) for row in rows if row)
    return f"unmerged in the index: {', '.join(list(names)[:5])}" if names else ""


class _Comparison:
    """The trees of a merge, and how they differ."""

    def __init__(self, git: Git, begun: BegunMerge, tree: str) -> None:
        self._git = git
        merged = merge_sides(git, (_OURS, begun.own), (_THEIRS, begun.line))
        base = git.line("merge-base", begun.own, begun.line)
        self._conflicted = {os.fsdecode(each.partition(b"\t")[2]) for each in merged.stages}
        self._merged = _entries(git, merged.tree, tree)
        self._base_line = _entries(git, base, begun.line)
        self._base_own = _entries(git, base, begun.own)
        self._sides = (base, begun.own, begun.line)
        self._empty = git.line("hash-object", "-w", "--stdin")
        #: The differences of each file that was compared, by name.
        self.hunks: dict[str, tuple[Hunk, ...]] = {}
        self.not_compared = max(0, len(self._merged) - _MOST_FILES)

    def files(self) -> Iterator[MergedFile]:
        """What differs from the merge that git alone makes."""
        for name in sorted(self._merged)[:_MOST_FILES]:
            merged, left = self._merged[name]
            theirs = self._base_line.get(name)
            texts = [self._text(each) for each in (merged, left)]
            if None in texts:
                self.not_compared += 1
            self.hunks[name] = hunks = self._hunks(merged, left) if None not in texts else ()
            landed = self._hunks(*theirs) if theirs is not None else ()
            lines = frozenset(line for hunk in landed for line in hunk.added)
            yield MergedFile(
                path=shown(name),
                landed=tuple(line for hunk in landed for line in hunk.added),
                still_there=lines.intersection(_plain_lines(texts[1] or "")),
                taken_out=tuple(line for hunk in landed for line in hunk.removed),
                hunks=hunks,
                conflicted=name in self._conflicted,
                in_conflict=tuple(_conflict_lines(texts[0] or ""))
                if name in self._conflicted
                else (),
                touched_before=name in self._base_own,
                as_before=theirs is not None and left == theirs[0],
                gone=not left and bool(merged),
                markers=_count_markers(texts[1] or ""),
                markers_before=self._markers_before(name),
            )

    def _markers_before(self, name: str) -> int:
        """How many marker lines a merge of both sides may have: what either added to the base."""
        base, own, line = (self._markers_in(f"{side}:{name}") for side in self._sides)
        return max(own, line, own + line - base)

    def _markers_in(self, place: str) -> int:
        data = self._git.file(place, _LARGEST)
        return 0 if data is None else _count_markers(data.decode(errors="surrogateescape"))

    def _text(self, blob: str) -> str | None:
        """The text of a blob; None for a binary file, a submodule, or a file that is too large."""
        if not blob:
            return ""
        data = self._git.file(blob, _LARGEST)
        if data is None or b"\0" in data:
            return None
        return data.decode(errors="surrogateescape")

    def _hunks(self, before: str, after: str) -> tuple[Hunk, ...]:
        ask = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "-U0", "--text")
        out = self._git.ask(*ask, before or self._empty, after or self._empty, cap=8 * _LARGEST)
        return _parse_hunks(out.decode(errors="surrogateescape"))


def _entries(git: Git, before: str, after: str) -> dict[str, tuple[str, str]]:
    """The files that differ between two trees, with the objects of both; empty: not there."""
    entries = tree_entries(git, before, after)
    return {os.fsdecode(each.path): (each.old, each.new) for each in entries}


def _parse_hunks(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff without context lines."""
    found: list[Hunk] = []
    removed: list[str] = []
    added: list[str] = []
    inside = False
    for line in diff.split("\n"):
        if line.startswith("@@"):
            if removed or added:
                found.append(Hunk(removed=tuple(removed), added=tuple(added)))
            removed, added, inside = [], [], True
        elif inside and line.startswith("-"):
            removed.append(line[1:].rstrip("\r"))
        elif inside and line.startswith("+"):
            added.append(line[1:].rstrip("\r"))
    if removed or added:
        found.append(Hunk(removed=tuple(removed), added=tuple(added)))
    return tuple(found)


def _plain_lines(text: str) -> Iterator[str]:
    """The lines of a text as hunks have them."""
    return (line.rstrip("\r") for line in text.split("\n"))


def _count_markers(text: str) -> int:
    """How many lines begin or end a conflict, as git writes them.

    Lines of equal signs are left out: many files have headings underlined so.
    """
    return sum(_is_marker(line) for line in text.split("\n"))


def _is_marker(line: str) -> bool:
    return line.startswith(("<<<<<<< ", ">>>>>>> ", "||||||| ")) or line in ("<<<<<<<", ">>>>>>>")


def _conflict_lines(text: str) -> Iterator[str]:
    """The lines inside of conflict markers."""
    inside = False
    for line in _plain_lines(text):
        if line.startswith("<<<<<<< "):
            inside = True
        elif line.startswith(">>>>>>> "):
            inside = False
        elif inside:
            yield line
