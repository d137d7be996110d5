"""The rules about what a run may change, each with an id and a sentence. Pure.

The rules compare the repository before and after a run; they do not read commands, and prevent
nothing. Which process changed a file cannot be known: a finding names the other tasks whose runs
worked there meanwhile, and a person judges.
"""

import posixpath
from collections.abc import Callable, Mapping

from msgspec import Struct

from fleet.git.path_patterns import PathPatterns
from fleet.git.refs import ELSEWHERE, BaseAfter
from fleet.schemas import Base, Changes, Finding, Policy
from fleet.schemas.shown_text import some

#: A deletion in bulk: more lost files than this and than this share of all, or more bytes.
FEW_FILES = 20
PART_OF_FILES = 0.1
FEW_BYTES = 1 << 20
#: Directories of common tools that hide themselves from git: no trespass, wherever they are made.
_CACHES = frozenset(
    {
        *(".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis", ".tox", ".nox"),
        *(".venv", "venv", "env", "htmlcov", ".import_linter_cache", ".jj", ".direnv"),
    }
)
#: How many names a finding lists.
_NAMES = 5


class LostDirectory(Struct, frozen=True, kw_only=True):
    """Another task's directory that is gone, or lost files, while a run was at work."""

    task_id: str
    place: str
    #: How many files the directory had, and has; None: the directory is gone.
    before: int
    after: int | None = None
    #: Tasks whose runs may have done it as well; empty if the run's own stream names the place.
    or_by: tuple[str, ...] = ()


class ScopeFacts(Struct, frozen=True, kw_only=True):
    """What the rules of scope are given."""

    base: Base
    now: BaseAfter
    changes: Changes
    policy: Policy
    #: The run's directory relative to the top of the tree; `.` is the top.
    inside: str
    #: Other tasks' directories that are gone or lost files.
    lost: tuple[LostDirectory, ...] = ()
    #: Tasks whose runs worked in the same tree meanwhile.
    in_same_tree: tuple[str, ...] = ()


def scope_findings(facts: ScopeFacts) -> tuple[Finding, ...]:
    """The rules of scope that a run broke."""
    doubt = _doubt(facts.in_same_tree)
    return tuple(
        Finding(rule=rule, what=f"{what}{doubt}")
        for rule, (_, broken_by) in RULES.items()
        if (what := broken_by(facts))
    )


def _outside(facts: ScopeFacts) -> str:
    allowed = PathPatterns(facts.policy.scope, facts.inside)
    if allowed.everything:
        return ""
    names = [each.path for each in facts.changes.files if not allowed.match(each.path)]
    names += [
        f"{folder}/ (hidden by its own .gitignore)"
        for folder in facts.changes.hidden
        if not allowed.match(f"{folder}/.gitignore") and posixpath.basename(folder) not in _CACHES
    ]
    where = ", ".join(facts.policy.scope) or f"{facts.inside}/**"
    if names:
        return f"changed outside of its scope ({where}): {some(names, _NAMES)}"
    if facts.changes.more:
        return (
            f"{facts.changes.count} files changed, too many to say that all are in its"
            f" scope ({where})"
        )
    return ""


def _bulk(facts: ScopeFacts) -> str:
    changes = facts.changes
    files, size = changes.lost_files, changes.lost_bytes
    if files <= max(FEW_FILES, changes.tracked * PART_OF_FILES) and size <= FEW_BYTES:
        return ""
    names = [each.path for each in changes.files if each.kind == "deleted"]
    what = f"{files} of {changes.tracked} files are gone ({_size(size)})"
    return f"{what}: {some(names, _NAMES, changes.more)}" if names else what


def _guarded(facts: ScopeFacts) -> str:
    before, after = facts.base.guarded, facts.now.guarded
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if facts.policy.work_in == "clone":  # a clone's git directory is obeyed by no git of fleet's
        names = [name for name in names if not name.startswith(".git/")]
    meant = tuple(filter(_is_plain, facts.policy.scope))
    if meant:
        allowed = PathPatterns(meant, facts.inside)
        names = [name for name in names if name.startswith(".git/") or not allowed.match(name)]
    return f"changed what git or an agent runs by: {some(sorted(names), _NAMES)}" if names else ""


def _is_plain(pattern: str) -> bool:
    """The pattern begins with the name of a file or a directory, so the user chose that name."""
    return "*" not in pattern.partition("/")[0] and bool(pattern.strip("/"))


def _moved(facts: ScopeFacts) -> str:
    base, now = facts.base, facts.now
    if now.gone:
        return f"{now.root} is no repository any more"
    if now.damage:  # nothing is known of its refs
        return ""
    if facts.policy.work_in == "clone":  # a clone's refs are copies; its work is brought home
        return ""
    stand = {**now.refs, **({now.branch: now.head} if now.branch and now.head else {})}
    gone = [name for name in base.refs if name not in stand]
    moved = [
        name
        for name, commit in base.refs.items()
        if name in stand
        and stand[name] != commit
        and not commit.startswith(ELSEWHERE)
        and not stand[name].startswith(ELSEWHERE)
    ]
    if base.branch and base.head and base.branch not in stand:
        gone.append(base.branch)
    rewound = [base.branch or "HEAD"] if now.rewound and base.branch not in gone else []
    parts = (
        f"deleted {some(sorted(gone), _NAMES)}" if gone else "",
        f"moved {some(sorted(moved), _NAMES)}" if moved else "",
        f"took commits away from {rewound[0]}, which stood at {base.head[:12]}" if rewound else "",
    )
    return "; ".join(filter(None, parts))


def _other_directories(facts: ScopeFacts) -> str:
    return some([_lost_text(lost) for lost in facts.lost], _NAMES)


def _lost_text(lost: LostDirectory) -> str:
    name = f"{lost.place} of {lost.task_id}"
    gone = f"has {lost.after} files where {lost.before} were"
    text = f"{name} is gone" if lost.after is None else f"{name} {gone}"
    if not lost.or_by:
        return text
    return f"{text} (by this run or by {some(lost.or_by, _NAMES)}: fleet cannot tell)"


#: Each rule of scope by its id: its sentence, and how a run broke it (empty: the run did not).
RULES: Mapping[str, tuple[str, Callable[[ScopeFacts], str]]] = {
    "outside_scope": ("Files outside of the task's scope changed.", _outside),
    "bulk_deletion": ("A good part of the project is gone.", _bulk),
    "guarded_files": ("Hooks, git's own configuration or an agent's settings changed.", _guarded),
    "moved_refs": ("Branches or tags were moved or deleted that are not the run's.", _moved),
    "sibling_touched": ("Another task's directory is gone, or was emptied.", _other_directories),
}


def _size(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size} bytes"


def _doubt(in_same_tree: tuple[str, ...]) -> str:
    if not in_same_tree:
        return ""
    return (
        f" ({some(in_same_tree, _NAMES)} worked in the same tree meanwhile, and fleet cannot"
        " tell the two apart; --work-in clone keeps them apart)"
    )
