"""The rules about where a run went: each with an id, a sentence, and what it looks at. Pure.

They look at what is different afterwards, not at commands: a command can be written in a hundred
ways. So they find what happened, once it has; they keep nothing from happening. And they cannot
know whose hand it was: whoever else worked there meanwhile is named, and a person judges.
"""

import posixpath
from collections.abc import Callable, Sequence

from msgspec import Struct

from fleet.git.path_patterns import PathPatterns
from fleet.git.refs import BRANCHES, ELSEWHERE, Now
from fleet.schemas import Base, Changes, Finding, Policy

#: More lost files than this, or than this part of all, are a deletion in bulk; so are more bytes.
FEW_FILES = 20
PART_OF_FILES = 0.1
FEW_BYTES = 1 << 20
#: How many names a finding tells.
_NAMES = 5


class Loss(Struct, frozen=True, kw_only=True):
    """Another task's directory that is not what it was."""

    task_id: str
    place: str
    #: How many of its files were there, and are.
    before: int
    after: int | None = None


class Siblings(Struct, frozen=True, kw_only=True):
    """Other tasks, as far as they matter to a run."""

    losses: tuple[Loss, ...] = ()
    #: Those whose runs worked in the same tree meanwhile.
    together: tuple[str, ...] = ()


class Went(Struct, frozen=True, kw_only=True):
    """What the rules look at."""

    base: Base
    now: Now
    changes: Changes
    policy: Policy
    #: The run's directory as seen from the top of the tree; `.` is the top.
    inside: str
    siblings: Siblings


class Rule(Struct, frozen=True):
    """One rule."""

    id: str
    sentence: str
    #: How a run broke it; empty if it did not.
    broken_by: Callable[[Went], str]


def trespasses(
    base: Base, now: Now, changes: Changes, policy: Policy, cwd: str, siblings: Siblings
) -> tuple[Finding, ...]:
    """Where a run went that it had no business to be. `cwd` without links, as the base's root."""
    went = Went(
        base=base, now=now, changes=changes, policy=policy,
        inside=posixpath.relpath(cwd, base.root), siblings=siblings,
    )  # fmt: skip
    found = [(rule.id, rule.broken_by(went)) for rule in RULES]
    doubt = _doubt(siblings)
    return tuple(Finding(rule=rule, what=f"{what}{doubt}") for rule, what in found if what)


def _outside(went: Went) -> str:
    allowed = PathPatterns(went.policy.scope, went.inside)
    if allowed.everything:
        return ""
    names = [each.path for each in went.changes.files if not allowed.match(each.path)]
    where = ", ".join(went.policy.scope) or f"{went.inside}/**"
    if names:
        return f"changed outside of its scope ({where}): {_some(names)}"
    if went.changes.more:
        return (
            f"{went.changes.count} files changed, too many to say that all are in its"
            f" scope ({where})"
        )
    return ""


def _bulk(went: Went) -> str:
    changes = went.changes
    files, size = changes.lost_files, changes.lost_bytes
    if files <= max(FEW_FILES, changes.tracked * PART_OF_FILES) and size <= FEW_BYTES:
        return ""
    names = [each.path for each in changes.files if each.kind == "deleted"]
    what = f"{files} of {changes.tracked} files are gone ({_size(size)})"
    return f"{what}: {_some(names, more=changes.more)}" if names else what


def _guarded(went: Went) -> str:
    before, after = went.base.guarded, went.now.guarded
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    meant = tuple(filter(_is_plain, went.policy.scope))
    if meant:
        allowed = PathPatterns(meant, went.inside)
        names = [name for name in names if name.startswith(".git/") or not allowed.match(name)]
    return f"changed what git or an agent runs by: {_some(sorted(names))}" if names else ""


def _is_plain(pattern: str) -> bool:
    """The pattern names a file or a directory by its name, so it was meant."""
    return "*" not in pattern.partition("/")[0] and bool(pattern.strip("/"))


def _moved(went: Went) -> str:
    base, now = went.base, went.now
    if not now.head and now.trouble:
        return f"the repository cannot be read any more: {now.trouble}"
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
    own = base.branch.startswith(BRANCHES) and went.policy.isolation == "worktree"
    rewound = [base.branch or "HEAD"] if now.rewound and base.branch not in gone else []
    parts = (
        f"deleted {_some(sorted(gone))}" if gone else "",
        f"moved {_some(sorted(moved))}" if moved else "",
        f"took commits away from {rewound[0]}, which stood at {base.head[:12]}"
        if rewound and not own
        else "",
    )
    return "; ".join(filter(None, parts))


def _siblings(went: Went) -> str:
    losses = [
        f"{loss.place} of {loss.task_id} is gone"
        if loss.after is None
        else f"{loss.place} of {loss.task_id} has {loss.after} files where {loss.before} were"
        for loss in went.siblings.losses
    ]
    return _some(losses)


RULES = (
    Rule("outside_scope", "Files outside of the task's scope changed.", _outside),
    Rule("bulk_deletion", "A good part of the project is gone.", _bulk),
    Rule(
        "guarded_files",
        "Hooks, git's own configuration or an agent's settings changed.",
        _guarded,
    ),
    Rule("moved_refs", "Branches or tags were moved or deleted that are not the run's.", _moved),
    Rule("sibling_touched", "Another task's directory is gone, or was emptied.", _siblings),
)


def _some(names: Sequence[str], more: int = 0) -> str:
    shown = ", ".join(names[:_NAMES])
    rest = len(names) - _NAMES + more if len(names) > _NAMES else more
    return f"{shown} and {rest} more" if rest > 0 else shown


def _size(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size} bytes"


def _doubt(siblings: Siblings) -> str:
    if not siblings.together:
        return ""
    return (
        f" ({_some(siblings.together)} worked in the same tree meanwhile, and fleet cannot tell"
        " the two apart; --isolation worktree keeps them apart)"
    )
