"""Begins the merge of a line in a task's clone, so that the agent finds what git would leave:
conflict markers in the files, the sides in the index, and MERGE_HEAD.

The merge is made in a git directory of fleet's own; then its files, its index and its state are
put into the clone. Git is never started in the clone's own git directory, whose configuration and
hooks its agent may have written. Each step can be repeated with the same result, until the agent
begins: a process that was killed in the middle is followed by one that does it all again.
"""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from fleet.errors import FleetError, InvalidTask
from fleet.files.agent_place import AgentPlace
from fleet.files.atomic_write import write_all
from fleet.git.clone.collect_work import ClonedWork, cloned_work, kept_index, scratch_git
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.commit_object import write_commit
from fleet.git.commit_words import author_in, message_of
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.fold import other_start
from fleet.git.land.merge_trees import MergedSides, merge_sides
from fleet.git.own.fresh_git_dir import git_in
from fleet.git.refs import commit_of, is_ancestor, merge_base, tree_of
from fleet.git.tree_difference import tree_entries
from fleet.home import Home
from fleet.schemas import BegunMerge

_LIMIT = 120.0
#: In a git directory: what git has begun, other than a merge, and would go on with.
_OTHERS = (
    *("CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "AUTO_MERGE", "SQUASH_MSG"),
    *("rebase-merge", "rebase-apply", "sequencer"),
)
_MERGE = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE")
_FAN_OUT = 2
_DOT = ".git"
_CHUNK = 1 << 20


def plan_merge(
    home: Home,
    refs: TaskRefs,
    *,
    candidate: str,
    left: str,
    line: str,
    title: str,
    base: str = "",
) -> BegunMerge:
    """What is to be merged in a task's clone: the task's work, and a commit of the line.

    `candidate` is the commit that could not land, and `left` the tree that its run left, which may
    differ in pinned files. What was changed in the clone since then becomes a commit of its own; it
    is merged, but what others landed is held against the candidate. `base` is the commit that
    fleet gave the work: later ones of the line leave its history, so that git merges what they
    brought. Raises FleetError.
    """
    work = cloned_work(home, refs)
    work.take_snapshot()
    tree = commit_of(work.git, f"{candidate}^{{tree}}") if candidate else ""
    history = _GivenHistory(work, refs, line=line, base=base, title=title)
    own = history.of(candidate, base) if tree else candidate
    plan = BegunMerge(own=own, line=line, found=work.tree)
    if tree and work.tree in (left, tree):
        return plan
    # A process that was killed may have brought the commit home already.
    tip = commit_of(refs.git, refs.tip_ref)
    if not tip or commit_of(work.git, f"{tip}^{{tree}}") != work.tree:
        tip = work.committed(message_of(title, refs.task_id))
        work.bring(tip)
    tip = history.of(tip, own or base)
    return structs.replace(plan, tip=tip) if tree else structs.replace(plan, own=tip)


class _GivenHistory:
    """Takes commits of the line that fleet did not give the work out of the work's history."""

    def __init__(
        self, work: ClonedWork, refs: TaskRefs, *, line: str, base: str, title: str
    ) -> None:
        self._work, self._line, self._base = work, line, base
        self._message, self._author = message_of(title, refs.task_id), author_in(refs.git.repo)

    def of(self, commit: str, parent: str) -> str:
        """The commit, or one with the same files on `parent`, which the project then has."""
        git = self._work.git
        if not other_start(git, self._line, commit, self._base):
            return commit
        made = write_commit(
            git, tree_of(git, commit), parent, message=self._message, author=self._author
        )
        self._work.bring(made)
        return made


def begin_merge(
    home: Home, refs: TaskRefs, plan: BegunMerge, *, into: str, title: str
) -> BegunMerge:
    """Merge the line of the branch `into` into the work of a task's clone, by the plan.

    A clean merge is committed. Raises FleetError.
    """
    place = home.clone(refs.task_id)
    with scratch_git(home, refs, limit=_LIMIT) as git:
        git_dir, until = Path(git.repo.git_dir), git.until
        own = plan.tip or plan.own
        if not merge_base(git, own, plan.line):
            raise FleetError(
                f"git cannot merge {into} into its work on {refs.branch}: they have no commit in"
                " common, because the history of one of them was begun again",
                hint=f"To begin anew from {into}: fleet retry {refs.task_id} --fresh.",
            )
        merged = merge_sides(git, (refs.branch, own), (into, plan.line))
        message = message_of(f"Merge {into} into {refs.branch}: {title}", refs.task_id)
        tip = own
        if not merged.stages and not is_ancestor(git, plan.line, own):
            author = author_in(refs.git.repo)
            tip = write_commit(git, merged.tree, own, plan.line, message=message, author=author)
        _write_files(git_in(git_dir, place, until, str(git_dir / "index")), plan.found, merged.tree)
        index = _index(home, refs, git_dir, merged, until)
        clone = AgentPlace(place)
        _put_state(clone, refs, tip=tip, index=index, objects=git_dir / "objects")
        _put_merge(clone, plan.line if merged.stages else "", message)
        _put_branch(clone, f"refs/heads/{into}", plan.line)
    return structs.replace(plan, files=merged.files, ready=True)


def _write_files(git: Git, found: str, tree: str) -> None:
    """Bring the clone's files from one tree to another.

    A file that is as neither tree has it was written since by another hand, and is put aside.
    """
    clone = AgentPlace(git.repo.root)
    entries = tree_entries(git, found, tree)
    there = {os.fsdecode(each.path): each.new for each in entries}
    as_found = _unlike(git, [(each.path, each.old_mode, each.old) for each in entries])
    as_merged = _unlike(git, [(each.path, each.new_mode, each.new) for each in entries])
    wanted = [name for name in there if name in as_merged]
    for name in wanted:
        if name in as_found:
            clone.put_aside(name)
    for name in wanted:
        if not there[name]:
            with suppress(InvalidTask):  # a directory on the way became something else
                clone.remove_file(name)
    feed = b"".join(os.fsencode(name) + b"\0" for name in wanted if there[name])
    if feed:
        git.ask("checkout-index", "--force", "--quiet", "-z", "--stdin", feed=feed)


def _unlike(git: Git, entries: Sequence[tuple[bytes, bytes, str]]) -> set[str]:
    """The files that are not as these entries (path, mode, object) say; the index holds the entries
    then.
    """
    git.ask("read-tree", "--empty")
    rows = [b"%s %s\t%s\0" % (mode, blob.encode(), path) for path, mode, blob in entries if blob]
    if rows:
        git.ask("update-index", "-z", "--index-info", feed=b"".join(rows))
        git.ask("update-index", "-q", "--refresh")
    listed = git.ask("ls-files", "-z", "--modified", "--deleted").split(b"\0")
    root = os.fsencode(git.repo.root)
    new = {path for path, _, blob in entries if not blob and os.path.lexists(root + b"/" + path)}
    return {os.fsdecode(name) for name in {*listed, *new} if name}


def _index(home: Home, refs: TaskRefs, git_dir: Path, merged: MergedSides, until: float) -> Path:
    """An index of the merge over the clone's files, with the sides of what git could not merge."""
    index, kept = git_dir / "merged.index", kept_index(home, refs.task_id)
    git = git_in(git_dir, home.clone(refs.task_id), until, str(index))
    try:
        shutil.copy2(kept, index)  # the kept index knows the times of files that did not change
        git.ask("read-tree", "-m", merged.tree)
    except (OSError, GitFailed):
        index.unlink(missing_ok=True)
        git.ask("read-tree", merged.tree)
    git.ask("update-index", "-q", "--refresh")
    if merged.stages:
        gone = "0" * len(merged.tree)
        rows = [f"0 {gone}\t".encode() + each.partition(b"\t")[2] for each in merged.stages]
        feed = b"".join(row + b"\0" for row in (*dict.fromkeys(rows), *merged.stages))
        git.ask("update-index", "-z", "--index-info", feed=feed)
    return index


def _put_state(clone: AgentPlace, refs: TaskRefs, *, tip: str, index: Path, objects: Path) -> None:
    """Put objects, branch, HEAD and index into the clone's git directory. Raises InvalidTask for a
    link on the way, which could lead out of the clone.
    """
    for name in _OTHERS:
        clone.put_aside(f"{_DOT}/{name}")
    for folder in sorted(objects.iterdir()):
        if len(folder.name) == _FAN_OUT:
            for file in folder.iterdir():
                name = f"{_DOT}/objects/{folder.name}/{file.name}"
                if clone.look(name) is None:
                    with file.open("rb") as source, clone.fresh(name, 0o444, durable=False) as fd:
                        while data := source.read(_CHUNK):
                            write_all(fd, data)
    clone.write(f"{_DOT}/index", index.read_bytes(), durable=False)
    named = _put_branch(clone, refs.branch_ref, tip)
    head = f"ref: {refs.branch_ref}\n" if named else f"{tip}\n"
    clone.write(f"{_DOT}/HEAD", head.encode(), durable=False)


def _put_branch(clone: AgentPlace, ref: str, commit: str) -> bool:
    """Have a branch of the clone lead to a commit; False: a branch of the agent's is in the way."""
    try:
        clone.write(f"{_DOT}/{ref}", f"{commit}\n".encode(), durable=False)
    except (FleetError, OSError):
        return False
    return True


def _put_merge(clone: AgentPlace, line: str, message: str) -> None:
    """What git goes on with at the next commit; nothing for a merge that is complete."""
    words = {"MERGE_HEAD": f"{line}\n", "MERGE_MSG": message, "MERGE_MODE": "no-ff"}
    for name in _MERGE:
        if line:
            clone.write(f"{_DOT}/{name}", words[name].encode(), durable=False)
        else:
            clone.remove(f"{_DOT}/{name}")
