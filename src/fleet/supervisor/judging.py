"""What fleet looks at once a run is over, before it decides: the repository, and the operator's
verify commands. It may take minutes, so it is done beside the loop.
"""

import os
import threading

from msgspec import Struct

from fleet.coders.environment import plain_env
from fleet.schemas import Base, Changes, Check, Finding, Policy
from fleet.supervisor.verify import check_all
from fleet.taskdir.rundir import Run


class Findings(Struct, frozen=True, kw_only=True):
    """What was found."""

    changes: Changes | None = None
    checks: tuple[Check, ...] = ()
    trespasses: tuple[Finding, ...] = ()
    #: We were told to leave it: nothing may be decided on this.
    abandoned: bool = False


class Case(Struct, frozen=True, kw_only=True):
    """A run that is over and has to be looked at. Holds nothing that the loop changes."""

    run: Run
    cwd: str
    policy: Policy
    base: Base | None
    #: The agent says that it is done, and ended as one that is.
    claimed: bool

    @property
    def is_short(self) -> bool:
        """There is nothing to look at that takes time."""
        return self.base is None and not (self.claimed and self.policy.verify)


def look(case: Case, abandon: threading.Event) -> Findings:
    """Look at everything. Blocks; not for the loop's thread."""
    if case.is_short:
        return Findings()
    checks: tuple[Check, ...] | None = ()
    if case.claimed and case.policy.verify:
        checks = check_all(
            case.run,
            case.policy.verify,
            case.cwd,
            limit=case.policy.verify_time,
            env=plain_env(os.environ),
            abandon=abandon,
        )
    if checks is None:
        return Findings(abandoned=True)
    return Findings(checks=checks)
