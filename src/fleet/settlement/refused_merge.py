"""A claim of a task that was sent back, and that breaks a rule of landing: the task goes back once
more, or to a person. Pure.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct, structs

from fleet.home.landing_json import Landing
from fleet.schemas import Blocked, Finding
from fleet.schemas.decision import Decision, blocked, released

#: How many of those that landed since a person is told of.
_FEW = 5


class LandTries(Struct, frozen=True, kw_only=True):
    """How often a task's work was sent back, and how often that may be."""

    made: int
    limit: int
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
    return LandTries(made=made, limit=limit, into=landing.into, against=", ".join(named))


def refuse_merge(broken: str, tries: LandTries, task_id: str) -> Decision:
    """What becomes of the task: back to the agent, or to a person once the tries are used up."""
    if tries.made < tries.limit:
        return released(f"sent back, the merge is not as it has to be: {broken}")
    often = "once" if tries.made == 1 else f"{tries.made} times"
    others = f", landed by {tries.against}" if tries.against else ""
    return blocked(
        f"its work cannot land: {broken}\nIt was sent back {often} (land_tries). The two"
        f" sides: the work of {task_id} (fleet review {task_id}), and {tries.into}{others}. To have"
        f" its agent try again: fleet retry {task_id}"
    )


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
