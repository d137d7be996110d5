"""Work that was verified, could not land and was sent back: what the agent is told, and what
becomes of a claim that breaks a rule of landing: it goes back once more, or to a person. Pure.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from fleet.home.landing_json import LandedWork, Landing
from fleet.schemas import BegunMerge, Blocked, Finding
from fleet.schemas.decision import Decision, blocked, released
from fleet.schemas.waits import CannotLand

#: How many of those that landed since a person is told of.
_FEW = 5
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


class LandTries(Struct, frozen=True, kw_only=True):
    """How often a task's work was sent back, and how often that may be."""

    made: int
    limit: int
    #: How many claims to have done this merge broke a rule of landing.
    refusals: int = 0
    #: The branch, and who landed work there since, for the texts.
    into: str = ""
    against: str = ""


def land_tries(landing: Landing | None, run: int, limit: int) -> LandTries | None:
    """The tries before this run's claim; None: the task was not sent back."""
    if landing is None or not landing.is_back:
        return None
    # A process that was killed may have counted the claim of this run already.
    refusals = landing.refusals - (landing.refused_run == run)
    named = [f"{each.task_id} ({each.title})" for each in landing.against[-_FEW:]]
    made = landing.tries + refusals
    return LandTries(
        made=made, limit=limit, refusals=refusals, into=landing.into, against=", ".join(named)
    )


def refuse_merge(broken: str, tries: LandTries, task_id: str) -> Decision:
    """Decision: give the task back to the agent once, then to a person; so too where the tries are
    used up. An agent that was told what is wrong with its merge and repeats it costs no third run.
    """
    if tries.refusals == 0 and tries.made < tries.limit:
        return released(f"sent back, the merge is not as it has to be: {broken}")
    waits = CannotLand(why=broken, tries=tries.made, into=tries.into, against=tries.against)
    return blocked(waits, task_id)


def refused_landing(
    landing: Landing, decision: Decision, broken: Sequence[Finding], *, run: int, now: datetime
) -> Landing:
    """The record of a task whose claim broke these rules."""
    refused = "; ".join(f"{each.rule}: {each.what}" for each in broken)
    counted = landing.refused_run == run
    asks = isinstance(decision.settlement, Blocked)
    return structs.replace(
        landing,
        state="asks" if asks else "back",
        why=decision.why if asks else landing.why,
        why_back="rules",
        refused=refused,
        refused_run=run,
        refusals=landing.refusals + (not counted),
        at=now,
    )
