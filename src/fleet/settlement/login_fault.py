"""What the end of a run says of login and model. Pure."""

from datetime import datetime

from msgspec import Struct, structs

from fleet.accounts.login_faults import Fault
from fleet.evidence.claim_rules import MADE_UP
from fleet.runs.outcome_history import Ending
from fleet.schemas import (
    Blocked,
    ContextFull,
    Failed,
    Finished,
    NeedsHuman,
    Stalled,
    bears_out,
)
from fleet.schemas.decision import released
from fleet.schemas.waits import ToMend

#: Reasons for which a CLI ends that broke, or never worked at all.
_CRASHES = ("exit_code", "killed", "never_started", "no_ending")


class Shown(Struct, frozen=True, kw_only=True):
    """What a run showed; a `fault` of None: login, model and project work."""

    fault: Fault | None = None
    why: str = ""


def fault_of(ending: Ending, *, missing: bool) -> Shown | None:
    """What an ending says; None: nothing. A limit, a stop and a vendor's trouble say nothing, and
    neither does a claim that a check refused or that could not be checked.

    `missing`: the program could not be run.
    """
    match ending.outcome:
        case _ if missing:
            return Shown(fault="program", why=ending.why)
        case Failed() as failed if failed.is_account:
            return Shown(fault="login", why=failed.said)
        case Failed(reason="model_not_found") as failed:
            return Shown(fault="model", why=failed.said)
        case Failed(reason=reason) if reason in _CRASHES:
            return Shown(fault="crash", why=ending.why)
        case Stalled(rung="never_started" | "degraded"):
            return Shown(fault="crash", why=ending.why)
        case Finished() if ending.broke:
            made_up = MADE_UP.intersection(ending.broke)
            if not made_up or "verify_failed" in ending.broke or _cannot_be_checked(ending):
                return None
            return Shown(fault="fabrication", why=", ".join(sorted(made_up)))
        case Finished() if bears_out(ending.settlement):
            return Shown()
        case NeedsHuman() | ContextFull():
            return Shown()
        case _:
            return None


def _cannot_be_checked(ending: Ending) -> bool:
    settlement = ending.settlement
    return isinstance(settlement, Blocked) and isinstance(settlement.waits, ToMend)


def spare_probe(ending: Ending, until: datetime) -> Ending:
    """The ending of a run that tried what is held, for all others: the task pays nothing."""
    failed = ending.counts and not bears_out(ending.settlement)
    why = f"{ending.why} (tried for all others, and not counted)"
    return structs.replace(
        ending,
        settlement=released(why, until).settlement,
        counts=False,
        attempts=ending.attempts - failed,
        why=why,
    )
