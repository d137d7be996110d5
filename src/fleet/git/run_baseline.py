"""The repository at the start of a run, and what is different at the end.

Both states are snapshots in fleet's own repository: that of the start at `refs/fleet/<task>/<run>`,
that of the end at `….after`, and at `….left` the list of what the first one does not store. In the
project a ref of the first name holds the commit that was checked out, so that its objects stay.
"""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from fleet.files.machine_short import is_short
from fleet.git import repository, tree_snapshot
from fleet.git.clone.collect_work import cloned_work
from fleet.git.clone.task_refs import clone_refs
from fleet.git.commit_object import write_commit
from fleet.git.commit_words import FLEET
from fleet.git.git_command import Git, GitFailed
from fleet.git.own import left_out
from fleet.git.own.copied_objects import keep_objects
from fleet.git.own.own_repository import known_repository, own_repository
from fleet.git.own.project_refs import refs_of, write_refs
from fleet.git.refs import (
    BRANCHES,
    ELSEWHERE,
    GROUP,
    BaseAfter,
    commit_of,
    condense,
    groups_of,
    read_refs,
    tree_of,
)
from fleet.git.repository import Repository, shown
from fleet.git.snapshot_names import AFTER, DIFF, INDEX, LEFT, kept_ref, ref_of
from fleet.git.tree_difference import (
    MOST_DIFF,
    MOST_FILES,
    count_lost_files,
    file_changes,
    write_diff,
)
from fleet.git.tree_snapshot import TreeSnapshot, keep_index
from fleet.home import Home
from fleet.runs.run_directory import Run
from fleet.schemas import Base, Changes, FileChange, Misplaced
from fleet.schemas.shown_text import some

#: Seconds for all git commands: at the start of a run in a project's own directory, where a run
#: without a snapshot is better than none; and else, on a machine that is busy with other things.
LIMIT = 10.0
LIMIT_AFTER = 60.0
MOST_COMMITS = 100


def record_base(
    cwd: str, key: str, *, home: Path, keep: Path | None = None, shared: tuple[str, ...] = ()
) -> Base | None:
    """The repository around a directory, with a snapshot; None if there is no repository.

    Files below `home` are fleet's own and left out, and so are the links at `shared`. `keep` is
    where the index is kept for `changes_since`. An error is returned as `trouble`; for a task's
    clone it raises GitFailed, as nothing of its run could be judged, verified or landed. So does a
    configuration of the repository that cannot be read.
    """
    repo = repository.find(cwd)
    if repo is None:
        return None
    base = Base(root=repo.root, git_dir=repo.git_dir, common_dir=repo.common_dir, shared=shared)
    refs = clone_refs(Home(home), key, repo.root)
    limit = LIMIT if refs is None else LIMIT_AFTER
    until, began = time.monotonic() + limit, time.time_ns()
    if refs is None:
        own_repository(home, repo)
    try:
        work = cloned_work(Home(home), refs, limit=limit) if refs is not None else None
        own = known_repository(home, repo.root)
        base = structs.replace(_around(refs_of(own, repo, until), repo), shared=shared)
        git = Git(own, until)
        if work is not None:
            tree, held = work.take_snapshot(keep=keep, weigh=False), work.head
        else:
            tree = _snapshot_of_start(own, repo, home, until, keep)
            held = _held(own, repo, until, key, base.head)
        keep_objects(git, tree.id, held)
        message = f"fleet: the working tree as {key} found it\n\n{left_out.time_line(began)}"
        commit = _store_start(git, key, tree, message)
    except (GitFailed, OSError) as error:
        if is_short(error):
            raise
        if refs is None:
            return structs.replace(base, trouble=f"no snapshot: {error}")
        raise GitFailed(f"its clone cannot be read: {error}") from None
    return structs.replace(base, snapshot=commit, trouble=_not_held(tree))


def _snapshot_of_start(
    own: Repository, repo: Repository, home: Path, until: float, keep: Path | None
) -> TreeSnapshot:
    """Store a project's own directory, and keep the index."""
    with tree_snapshot.opened(own, repo, until) as (git, index):
        tree = tree_snapshot.take_snapshot(git, without=_of_fleet(repo, home))
        if keep is not None:
            keep_index(index, keep)
        return tree


def _store_start(git: Git, key: str, tree: TreeSnapshot, message: str) -> str:
    """Make the refs of a snapshot; returns the snapshot's commit."""
    commit = write_commit(git, tree.id, message=message, author=FLEET)
    refs = {ref_of(key): commit}
    if tree.left_out:
        feed = left_out.encode(tree.left_out)
        refs[f"{ref_of(key)}{LEFT}"] = git.ask("hash-object", "-w", "--stdin", feed=feed).decode()
    lines = "".join(f"update {name} {each.strip()}\n" for name, each in refs.items())
    git.ask("update-ref", "--no-deref", "--stdin", feed=lines.encode())
    return commit


def _held(own: Repository, repo: Repository, until: float, key: str, head: str) -> str:
    """Have the project keep the commit that is checked out; empty if the project
    cannot be made to.
    """
    with suppress(GitFailed):
        write_refs(own, repo, until, to={ref_of(key): head} if head else {})
        return head
    return ""


def repository_of(base: Base) -> Repository | None:
    """The repository of a base, by the recorded paths; None if the repository is gone."""
    if not os.path.exists(f"{base.git_dir}/HEAD") or not os.path.isdir(base.root):  # noqa: PTH110, PTH112
        return None
    return Repository(root=base.root, git_dir=base.git_dir, common_dir=base.common_dir)


def _unreadable(base: Base) -> str:
    """Why the files of a repository cannot be read; empty: there are none. Raises OSError if the
    machine is short of something.
    """
    try:
        for path in (f"{base.git_dir}/HEAD", base.root):
            os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        if is_short(error):
            raise
        return f"{error.filename}: {error.strerror}"
    return ""


def base_now(base: Base, home: Path) -> BaseAfter:
    """The repository of a base at this moment, without a snapshot. Raises the error of a machine
    that is short of something.
    """
    repo = repository_of(base)
    if repo is None:
        damage = _unreadable(base)
        guarded = base.guarded if damage else {}
        return BaseAfter(root=base.root, gone=not damage, damage=damage, guarded=guarded)
    until = time.monotonic() + LIMIT_AFTER
    try:
        own = known_repository(home, repo.root)
        git = refs_of(own, repo, until)
        groups = [name for name in base.refs if name.endswith(GROUP)]
        found = _with_kept_branches(git, base, _around(git, repo, groups))
        rewound = _rewound(Git(own, until), base, found)
    except (GitFailed, OSError) as error:
        if is_short(error):
            raise
        return BaseAfter(root=base.root, guarded=repository.guarded(repo), damage=str(error))
    return BaseAfter(**structs.asdict(found), rewound=rewound)


def _with_kept_branches(git: Git, base: Base, now: Base) -> Base:
    """Add the branches of tasks that fleet put away meanwhile: their commits are kept."""
    gone = [name for name in base.refs if name.startswith(BRANCHES) and name not in now.refs]
    kept = {name: base.refs[name] for name in gone if commit_of(git, kept_ref(name))}
    return structs.replace(now, refs={**now.refs, **kept}) if kept else now


def _rewound(git: Git, base: Base, now: Base) -> bool:
    """The branch of the start no longer contains the commit of the start."""
    stands = now.head if base.branch == now.branch else now.refs.get(base.branch, "")
    stands = stands.removeprefix(ELSEWHERE)
    if not base.head or not stands or stands == base.head or not base.branch:
        return False
    return bool(git.line("rev-list", "--max-count=1", base.head, f"^{stands}", "--"))


def changes_since(base: Base, run: Run, *, stored: bool = False) -> Changes:
    """What changed in the working tree and on the branch; the diff goes to the run's directory.

    `stored`: the tree counts that an earlier process stored, and not the files as they are by now.
    An error is returned as `trouble`; only that of a machine that is short of something is raised.
    """
    found = Changes(base=base.snapshot)
    if not base.snapshot:
        return structs.replace(found, trouble=base.trouble)
    repo = repository_of(base)
    if repo is None:
        why = _unreadable(base) or f"{base.root} is no repository any more"
        return structs.replace(found, trouble=why)
    until = time.monotonic() + LIMIT_AFTER
    try:
        refs = clone_refs(run.home, _key_of(run), repo.root)
        work = cloned_work(run.home, refs) if refs is not None else None
        own = known_repository(run.home.path, repo.root)
        git = Git(own, until)
        known = _left_out_of(git, _key_of(run))
        if work is not None:
            tree = work.take_snapshot(known=known, since=base.snapshot, weigh=False)
            head, hidden = work.head, work.hidden
        else:
            head = read_refs(refs_of(own, repo, until), repo).head
            tree, hidden = _tree_now(own, repo, base, run, until, known, head)
        found = structs.replace(found, commits=_commits(git, base, head))
        if stored:
            after = f"{ref_of(_key_of(run))}{AFTER}"
            found_then = commit_of(git, after) or base.snapshot  # no ref: nothing had changed
            tree = TreeSnapshot(id=tree_of(git, found_then))
        found = structs.replace(found, hidden=tuple(map(shown, hidden)))
        keep_objects(git, tree.id, base.head)
        if base.shared:
            listed = git.ask("ls-tree", "-r", "-z", "--name-only", tree.id, "--", *base.shared)
            names = [shown(name) for name in listed.split(b"\0")[:MOST_FILES] if name]
            found = structs.replace(found, misplaced=Misplaced(shared=tuple(names)))
        return _compared(git, found, tree, known, run)
    except (GitFailed, OSError) as error:
        if is_short(error):
            raise
        return structs.replace(found, trouble=str(error))


def _compared(
    git: Git, found: Changes, tree: TreeSnapshot, known: dict[str, str], run: Run
) -> Changes:
    before = tree_of(git, found.base)
    listed = list(file_changes(git, before, tree.id)) if before != tree.id else []
    if any(each.kind != "added" and not each.added for each in listed):
        lost = count_lost_files(git, before, tree.id)
        found = structs.replace(
            found, tracked=lost.tracked, lost_files=lost.files, lost_bytes=lost.size
        )
    listed += _left_out_changes(git.repo.root, known, tree)
    found = structs.replace(
        found, files=tuple(listed[:MOST_FILES]), more=max(0, len(listed) - MOST_FILES), tree=tree.id
    )
    kept = tuple(shown(name) for name in tree.kept[:MOST_FILES])
    found = structs.replace(found, kept=kept)
    trouble = _not_held(tree)
    if before == tree.id:
        return structs.replace(found, trouble=trouble)
    words = f"fleet: what {_key_of(run)} left"
    after = write_commit(git, tree.id, found.base, message=words, author=FLEET)
    git.ask("update-ref", "--no-deref", f"{ref_of(_key_of(run))}{AFTER}", after)
    cut = not write_diff(git, before, tree.id, run.path / DIFF)
    if cut:
        trouble = f"{trouble}; the difference is cut at {MOST_DIFF >> 20} MiB".removeprefix("; ")
    return structs.replace(found, diff=DIFF, trouble=trouble)


def _left_out_of(git: Git, key: str) -> dict[str, str]:
    """What the snapshot of the start does not store, with the marks of then."""
    ref = f"{ref_of(key)}{LEFT}"
    return left_out.decode(git.ask("cat-file", "blob", ref)) if commit_of(git, ref) else {}


def _left_out_changes(root: str, known: dict[str, str], tree: TreeSnapshot) -> list[FileChange]:
    """How the files differ that neither snapshot stores."""
    found: list[FileChange] = []
    for name, mark in known.items():
        now = left_out.mark_of(root, name, like=mark)
        if now != mark and mark:
            found.append(FileChange(path=shown(name), kind="changed" if now else "deleted"))
    return [*found, *(FileChange(path=shown(name), kind="added") for name in tree.left_out)]


def _tree_now(
    own: Repository,
    repo: Repository,
    base: Base,
    run: Run,
    until: float,
    known: dict[str, str],
    head: str,
) -> tuple[TreeSnapshot, tuple[str, ...]]:
    """The tree that a run left in a project's own directory, and directories inside that hide
    themselves.
    """
    kept = run.task_dir / INDEX
    home = _of_fleet(repo, run.home.path)
    with tree_snapshot.opened(own, repo, until, kept) as (git, index):
        before = tree_of(git, base.snapshot)
        if not _is_of(git, index, before):
            # The index is of another run: git reads every file instead, with the same result.
            index.unlink(missing_ok=True)
            git.ask("read-tree", before)
        hidden = left_out.hidden_directories(git, base.snapshot)
        tree = tree_snapshot.take_snapshot(
            git, without=home, known=known, commit=head if head != base.head else ""
        )
        return tree, hidden


def _is_of(git: Git, index: Path, tree: str) -> bool:
    try:
        return index.exists() and git.line("write-tree") == tree
    except GitFailed:  # a broken index is treated as missing
        return False


def _around(git: Git, repo: Repository, groups: Iterable[str] | None = None) -> Base:
    refs = read_refs(git, repo)
    return Base(
        root=repo.root,
        git_dir=repo.git_dir,
        common_dir=repo.common_dir,
        head=refs.head,
        branch=refs.branch,
        refs=condense(refs.others, groups_of(refs.others) if groups is None else groups),
        guarded=repository.guarded(repo),
    )


def _commits(git: Git, base: Base, head: str) -> tuple[str, ...]:
    """Commits that HEAD contains now and did not contain at the start; none if all of them together
    change no file.
    """
    if not head or head == base.head:
        return ()
    if base.head and tree_of(git, head) == tree_of(git, base.head):
        return ()
    range_of = [head, f"^{base.head}"] if base.head else [head]
    out = git.ask("rev-list", f"--max-count={MOST_COMMITS}", *range_of, "--")
    return tuple(out.decode().split())


def _not_held(tree: TreeSnapshot) -> str:
    """What is not stored and should be, as a sentence. Secrets should not be."""
    parts: list[str] = []
    if tree.no_new:
        parts.append("there are too many new files to keep: none of them is held")
    if tree.large:
        large = [shown(name) for name in tree.large]
        parts.append(f"too large or unreadable, and not held: {some(large, 5)}")
    return "; ".join(parts)


def _of_fleet(repo: Repository, home: Path) -> list[str]:
    """Fleet's own home, if the home lies in the working tree."""
    place = os.path.relpath(os.path.realpath(home), repo.root)
    return [] if place == "." or place.startswith("..") else [place]


def _key_of(run: Run) -> str:
    return f"{run.task_id}/{run.number}"
