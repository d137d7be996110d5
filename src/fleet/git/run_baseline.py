"""The repository at the start of a run, and what is different at its end.

The snapshot of the start is at `refs/fleet/<task>/<run>`, that of the end at `….after`; neither
commit is on a branch. The message of the first commit lists what was left out.
"""

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import structs

from fleet.git import repository, tree_snapshot
from fleet.git.git_command import Git, GitFailed
from fleet.git.lost_files import count_lost_files
from fleet.git.refs import (
    BRANCHES,
    ELSEWHERE,
    GROUP,
    OURS,
    BaseAfter,
    commit_of,
    condense,
    groups_of,
    read_refs,
)
from fleet.git.repository import Repository, shown
from fleet.git.tree_snapshot import TreeSnapshot
from fleet.schemas import Base, Changes, FileChange

#: Seconds for all git commands, at the start and at the end of a run.
LIMIT = 10.0
LIMIT_AFTER = 60.0
#: How many changed files, commits and bytes of the diff are kept.
MOST_FILES = 1000
MOST_COMMITS = 100
DIFF = "diff.patch"
MOST_DIFF = 20 << 20
#: In the task's directory: the index at the start of the latest run. With it git need not read
#: every file at the end, and no flag that an agent sets in the repository's index hides a file.
INDEX = "base.index"
_LEFT_OUT = "left out: "
_NO_NEW = "without new files"
_KINDS: Mapping[bytes, Literal["added", "deleted"]] = {b"A": "added", b"D": "deleted"}
#: How many of the files that were left out are listed.
_MOST_LEFT_OUT = 1000


def ref_word(task_id: str) -> str:
    """A task's id as part of a ref, which may end neither with a dot nor with `.lock`."""
    word = f"{task_id[:-1]}-" if task_id.endswith(".") else task_id
    return f"{word.removesuffix('.lock')}-lock" if word.endswith(".lock") else word


def ref_of(key: str) -> str:
    """The ref of the snapshot of a run; the key is `<task>/<run>`."""
    task, _, run = key.partition("/")
    return f"{OURS}{ref_word(task)}/{run}"


def record_base(
    cwd: str, key: str, *, home: Path | None = None, keep: Path | None = None
) -> Base | None:
    """The repository around a directory, with a snapshot; None if there is no repository.

    Files below `home` are fleet's own and left out. `keep` is where the index is kept for
    `changes_since`. An error is returned as `trouble`.
    """
    repo = repository.find(cwd)
    if repo is None:
        return None
    until = time.monotonic() + LIMIT
    git = Git(repo, until)
    base = Base(root=repo.root)
    try:
        base = _around(git)
        with tree_snapshot.copied_index(repo) as index:
            tree = tree_snapshot.take_snapshot(
                Git(repo, until, str(index)), without=_of_fleet(repo, home)
            )
            commit = _commit(git, tree.id, base.head, _message(key, tree))
            git.ask("update-ref", "--no-deref", ref_of(key), commit)
            if keep is not None:
                keep_index(index, keep)
    except (GitFailed, OSError) as error:
        return structs.replace(base, trouble=f"no snapshot: {error}")
    return structs.replace(base, snapshot=commit, trouble=_left_out(tree))


def base_now(base: Base) -> BaseAfter:
    """The repository of a base as it is now, without a snapshot."""
    repo = repository.find(base.root)
    if repo is None or repo.root != base.root:
        return BaseAfter(root=base.root, trouble=f"{base.root} is no repository any more")
    git = Git(repo, time.monotonic() + LIMIT)
    try:
        groups = [name for name in base.refs if name.endswith(GROUP)]
        found = _with_kept_branches(git, base, _around(git, groups))
        rewound = _rewound(git, base, found)
    except GitFailed as error:
        return BaseAfter(root=base.root, guarded=repository.guarded(repo), trouble=error.message)
    return BaseAfter(**structs.asdict(found), rewound=rewound)


def _with_kept_branches(git: Git, base: Base, now: Base) -> Base:
    """Add the branches of tasks that fleet itself put away meanwhile: their commits are kept."""
    gone = [name for name in base.refs if name.startswith(BRANCHES) and name not in now.refs]
    kept = {name: base.refs[name] for name in gone if commit_of(git, kept_ref(name))}
    return structs.replace(now, refs={**now.refs, **kept}) if kept else now


def kept_ref(branch: str) -> str:
    """The ref that keeps the commits of a task's branch, `refs/heads/fleet/<task>`, once the branch
    is put away. The ref is deleted with the task's snapshots.
    """
    return f"{OURS}{branch.removeprefix(BRANCHES)}/branch"


def _rewound(git: Git, base: Base, now: Base) -> bool:
    """The branch of the start no longer contains the commit that it pointed to."""
    stands = now.head if base.branch == now.branch else now.refs.get(base.branch, "")
    stands = stands.removeprefix(ELSEWHERE)
    if not base.head or not stands or stands == base.head or not base.branch:
        return False
    return bool(git.line("rev-list", "--max-count=1", base.head, f"^{stands}", "--"))


def changes_since(base: Base, run_dir: Path) -> Changes:
    """What changed in the working tree and on its branch; the diff goes to the run's directory."""
    found = Changes(base=base.snapshot)
    if not base.snapshot:
        return structs.replace(found, trouble=base.trouble)
    repo = repository.find(base.root)
    if repo is None or repo.root != base.root:
        return structs.replace(found, trouble=f"{base.root} is no repository any more")
    until = time.monotonic() + LIMIT_AFTER
    git = Git(repo, until)
    try:
        message = git.line("cat-file", "commit", base.snapshot)
        found = structs.replace(found, commits=_commits(git, base))
        tree = _tree_now(repo, base, run_dir, until, message)
        return _compared(git, found, tree, message, run_dir)
    except (GitFailed, OSError) as error:
        return structs.replace(found, trouble=str(error))


def _compared(git: Git, found: Changes, tree: TreeSnapshot, message: str, run_dir: Path) -> Changes:
    before = git.line("rev-parse", "--verify", f"{found.base}^{{tree}}")
    listed = list(file_changes(git, before, tree.id)) if before != tree.id else []
    if any(each.kind != "added" and not each.added for each in listed):
        lost = count_lost_files(git, before, tree.id)
        found = structs.replace(
            found, tracked=lost.tracked, lost_files=lost.files, lost_bytes=lost.size
        )
    known = set(_listed(message, _LEFT_OUT))
    large = [name for name in tree.left_out if name not in known]
    listed += [FileChange(path=shown(name), kind="added") for name in large]
    found = structs.replace(
        found, files=tuple(listed[:MOST_FILES]), more=max(0, len(listed) - MOST_FILES)
    )
    trouble = _left_out(structs.replace(tree, left_out=tuple(large)))
    if before == tree.id:
        return structs.replace(found, trouble=trouble)
    after = _commit(git, tree.id, found.base, f"fleet: what {_key_of(run_dir)} left")
    git.ask("update-ref", "--no-deref", f"{ref_of(_key_of(run_dir))}.after", after)
    cut = not _write_diff(git, before, tree.id, run_dir / DIFF)
    if cut:
        trouble = f"{trouble}; the difference is cut at {MOST_DIFF >> 20} MiB".removeprefix("; ")
    return structs.replace(found, diff=DIFF, trouble=trouble)


def _tree_now(
    repo: Repository, base: Base, run_dir: Path, until: float, message: str
) -> TreeSnapshot:
    kept = run_dir.parent.parent / INDEX
    names = [*_of_fleet(repo, run_dir.parents[3]), *_listed(message, _LEFT_OUT)]
    no_new = _NO_NEW in message.splitlines()
    with tree_snapshot.copied_index(repo, kept) as index:
        git = Git(repo, until, str(index))
        before = git.line("rev-parse", "--verify", f"{base.snapshot}^{{tree}}")
        with suppress(GitFailed):  # a broken index is treated as missing
            if index.exists() and git.line("write-tree") == before:
                return tree_snapshot.take_snapshot(git, without=names, no_new=no_new)
        # The index is of another run: git reads every file instead, with the same result.
        index.unlink(missing_ok=True)
        git.ask("read-tree", before)
        return tree_snapshot.take_snapshot(git, without=names, no_new=no_new)


def _around(git: Git, groups: Iterable[str] | None = None) -> Base:
    refs = read_refs(git)
    return Base(
        root=git.repo.root,
        head=refs.head,
        branch=refs.branch,
        refs=condense(refs.others, groups_of(refs.others) if groups is None else groups),
        guarded=repository.guarded(git.repo),
    )


def _commits(git: Git, base: Base) -> tuple[str, ...]:
    """Commits that HEAD contains now and did not contain at the start."""
    head = read_refs(git).head
    if not head or head == base.head:
        return ()
    range_of = [head, f"^{base.head}"] if base.head else [head]
    out = git.ask("rev-list", f"--max-count={MOST_COMMITS}", *range_of, "--")
    return tuple(out.decode().split())


def file_changes(git: Git, before: str, after: str) -> Iterator[FileChange]:
    """Every file that differs, with the number of added and removed lines."""
    ask = ("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    kinds: dict[bytes, Literal["added", "changed", "deleted"]] = {}
    raw = git.ask(*ask, "--raw", before, after).split(b"\0")
    for about, name in zip(raw[::2], raw[1::2], strict=False):
        kinds[name] = _KINDS.get(about[-1:], "changed")
    lines: dict[bytes, tuple[int, int]] = {}
    if len(kinds) <= MOST_FILES:
        for entry in git.ask(*ask, "--numstat", before, after).split(b"\0"):
            added, _, rest = entry.partition(b"\t")
            removed, _, name = rest.partition(b"\t")
            if added.isdigit() and removed.isdigit():  # a binary file has no lines
                lines[name] = (int(added), int(removed))
    for name, kind in kinds.items():
        added, removed = lines.get(name, (0, 0))
        yield FileChange(path=shown(name), kind=kind, added=added, removed=removed)


def _write_diff(git: Git, before: str, after: str, place: Path) -> bool:
    fresh = place.with_name(f".{place.name}")
    ask = ("diff-tree", "-r", "-p", "--full-index", "--no-renames", "--no-ext-diff")
    with fresh.open("wb") as file:
        fresh.chmod(0o600)
        whole = git.write(file, MOST_DIFF, *ask, "--no-textconv", "--no-color", before, after)
    fresh.replace(place)
    return whole


def _commit(git: Git, tree: str, parent: str, message: str) -> str:
    parents = ("-p", parent) if parent else ()
    return git.line("commit-tree", "--no-gpg-sign", *parents, "-m", message, tree)


def _message(key: str, tree: TreeSnapshot) -> str:
    lines = [f"fleet: the working tree as {key} found it"]
    if tree.no_new or tree.left_out:
        lines.append("")
    if tree.no_new:
        lines.append(_NO_NEW)
    lines += [f"{_LEFT_OUT}{name}" for name in tree.left_out[:_MOST_LEFT_OUT] if "\n" not in name]
    return "\n".join(lines)


def _listed(message: str, word: str) -> list[str]:
    return [line.removeprefix(word) for line in message.splitlines() if line.startswith(word)]


def _left_out(tree: TreeSnapshot) -> str:
    """What was left out of a snapshot, as a sentence."""
    parts: list[str] = []
    if tree.no_new:
        parts.append("there are too many new files to keep: none of them is held")
    if tree.left_out:
        some = ", ".join(map(shown, tree.left_out[:5]))
        more = f" and {len(tree.left_out) - 5} more" if len(tree.left_out) > 5 else ""
        parts.append(f"too large or unreadable, and not held: {some}{more}")
    return "; ".join(parts)


def _of_fleet(repo: Repository, home: Path | None) -> list[str]:
    """Fleet's own home, if it lies in the working tree."""
    if home is None:
        return []
    place = os.path.relpath(os.path.realpath(home), repo.root)
    return [] if place == "." or place.startswith("..") else [place]


def _key_of(run_dir: Path) -> str:
    return f"{run_dir.parent.parent.name}/{run_dir.name}"


def keep_index(index: Path, place: Path) -> None:
    """Copy an index to its place in one step, with its time."""
    fresh = place.with_name(f".{place.name}")
    shutil.copy2(index, fresh)
    fresh.replace(place)
