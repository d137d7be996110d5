"""What an agent is told whose work was verified and could not land. Pure."""

from collections.abc import Sequence

from fleet.home.landing_json import LandedWork, Landing
from fleet.schemas import BegunMerge

#: How many files and landed tasks are named, and characters of what verify printed.
_FILES = 40
_TASKS = 20
_OUTPUT = 4000
#: What sends a task back whose pull request cannot be merged yet.
_FROM_FORGE = ("checks", "review")

_CONFLICT = """\
Your work on this task was verified, and could not land on `{into}`: since then others landed work \
there that conflicts with it. fleet has begun the merge of `{into}` in your directory (see \
`git status`). In conflict: {files}.

Resolve the conflict markers so that what both sides are for still works. Then run the checks, \
`git add` what you resolved and `git commit` to finish the merge, and close the task as before."""
_MERGED = """\
Your work on this task was verified, and could not land on `{into}`: together with what others \
landed there since, it fails. fleet has merged `{into}` into your branch and committed the merge. \
What the checks printed on both together:

```
{output}
```

Mend the whole so that what both sides are for works, run the checks, and close the task as \
before."""
_CLEAN = """\
Your work on this task was verified, and could not land on `{into}`: it conflicted with what \
others landed there since. By now your branch contains `{into}`, without a conflict that git sees. \
See that what both sides are for works, run the checks, and close the task as before."""
_PULL_REQUEST = """\
Your work on this task was verified, and its pull request into `{into}` cannot be merged yet. \
fleet has merged `{into}` into your branch and committed the merge. What the checks and reviewers \
of the pull request say:

```
{output}
```

Do what is right about each of these, run the checks, and close the task as before: the same pull \
request gets your new commits. What a reviewer asks for and you do not do, say in your claim."""
_BESIDE = """\
Beside the conflict, the checks and reviewers of its pull request say:

```
{output}
```"""
_RULES = "Your last claim was refused, because the merge is not as it has to be: {why}\n\n"
_KEEP = (
    "Keep what others landed: lines of theirs that are gone, and not by a conflict, are noticed. Do"
    " not give the merge up (`git merge --abort`, `-s ours`, a reset). If the two sides cannot both"
    " be had, that is a question for a person."
)


def sent_back_words(
    landing: Landing, merge: BegunMerge, *, hunks: str, landed: Sequence[str]
) -> str:
    """Why the work did not land, what landed since, and what the agent is to do.

    `hunks`: what landed in the files in conflict; `landed`: the files that others changed.
    """
    parts = [_what(landing, merge), _KEEP]
    if merge.files and landing.why_back in _FROM_FORGE and landing.output:
        parts.insert(1, _BESIDE.format(output=_fenced(landing.output)))
    if landing.against:
        parts.append(f"What landed since:\n{_tasks(landing.against)}")
    if merge.files and hunks.strip():
        parts.append(f"What landed in the files in conflict:\n\n```diff\n{hunks.rstrip()}\n```")
    elif landed:
        parts.append(f"Files that others changed since: {_names(landed)}.")
    return "\n\n".join(parts)


def _what(landing: Landing, merge: BegunMerge) -> str:
    why = _RULES.format(why=landing.refused) if landing.refused else ""
    if merge.files:
        return why + _CONFLICT.format(into=landing.into, files=_names(merge.files))
    output = _fenced(landing.output)
    if output and landing.why_back in _FROM_FORGE:
        return why + _PULL_REQUEST.format(into=landing.into, output=output)
    if not output or landing.why_back != "verify":
        return why + _CLEAN.format(into=landing.into)
    return why + _MERGED.format(into=landing.into, output=output)


def _fenced(output: str) -> str:
    return output.strip()[-_OUTPUT:].replace("```", "'''")


def _tasks(against: Sequence[LandedWork]) -> str:
    lines = [f"- {each.task_id}: {each.title}" for each in against[-_TASKS:]]
    more = len(against) - len(lines)
    return "\n".join([*lines, f"- and {more} more"] if more else lines)


def _names(files: Sequence[str]) -> str:
    more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
    return ", ".join(f"`{name}`" for name in files[:_FILES]) + more
