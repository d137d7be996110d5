"""What fleet looks at once a run is over, before it decides: the repository, and the operator's
verify commands. It may take minutes, so it is done beside the loop.
"""

import os
import threading

from msgspec import Struct, structs

from fleet.coders.agent_environment import plain_env
from fleet.errors import FleetError
from fleet.evidence.pinned_files import originals
from fleet.evidence.scope_check import trespasses_of
from fleet.evidence.verify_commands import check_all
from fleet.git.run_baseline import changes_since
from fleet.runs import stop_reason
from fleet.runs.run_directory import Run
from fleet.schemas import Base, Changes, Check, Finding, Policy, Stopped
from fleet.schemas.decision import OURS


class Findings(Struct, frozen=True, kw_only=True):
    """What was found."""

    changes: Changes | None = None
    checks: tuple[Check, ...] = ()
    trespasses: tuple[Finding, ...] = ()
    #: Why the claim cannot be checked at all, whatever the agent did: for a person to mend.
    trouble: str = ""
    #: We were told to leave it: nothing may be decided on this.
    abandoned: bool = False


class Case(Struct, frozen=True, kw_only=True):
    """A run that is over and has to be looked at. Holds nothing that the loop changes."""

    run: Run
    cwd: str
    policy: Policy
    base: Base | None
    #: The repository as the first run of this series found it: what was set then is the exam.
    first: Base | None = None
    #: The agent says that it is done, and ended as one that is.
    claimed: bool

    @property
    def is_short(self) -> bool:
        """There is nothing to look at that takes time."""
        return self.base is None and not (self.claimed and self.policy.verify)


def look(case: Case, abandon: threading.Event) -> Findings:
    """Look at everything. Blocks; not for the loop's thread."""
    try:
        return _look(case, abandon)
    except (FleetError, OSError, ValueError) as error:
        # What an agent leaves behind can be anything; what cannot be looked at is not believed.
        trouble = f"it could not be looked at: {type(error).__name__}: {error}"
        return Findings(changes=Changes(base="", trouble=trouble), trouble=trouble)


def _look(case: Case, abandon: threading.Event) -> Findings:
    if case.is_short:
        return Findings()
    # Before the commands: what they leave behind is not the agent's.
    changes = changes_since(case.base, case.run.path) if case.base is not None else None
    trespasses: tuple[Finding, ...] = ()
    if case.base is not None and changes is not None:
        trespasses = trespasses_of(case.run, case.base, changes, case.policy, case.cwd)
    try:
        checks = _checks(case, abandon) if case.claimed and case.policy.verify else ()
    except (FleetError, OSError) as error:
        return Findings(changes=changes, trespasses=trespasses, trouble=str(error))
    if checks is None:
        return Findings(changes=changes, trespasses=trespasses, abandoned=True)
    return Findings(checks=checks, changes=changes, trespasses=trespasses)


def _was_stopped(run: Run) -> bool:
    """A person ended it while it was verified, and nobody was there to hear."""
    told = stop_reason.read(run)
    return isinstance(told, Stopped) and told.by not in OURS


def _checks(case: Case, abandon: threading.Event) -> tuple[Check, ...] | None:
    """The operator's commands, with the files that they need as they were."""
    policy = case.policy
    if _was_stopped(case.run):
        return None
    with originals(case.first or case.base, policy.pins, case.cwd, case.run.path) as restored:
        checks = check_all(
            case.run,
            policy.verify,
            case.cwd,
            limit=policy.verify_time,
            env=plain_env(os.environ),
            abandon=abandon,
        )
    if checks is None or not restored:
        return checks
    return (structs.replace(checks[0], restored=restored), *checks[1:])
