"""Where a task's code comes from on hosts that lack the task's directory."""

from typing import Literal

from msgspec import Struct

from fleet.schemas.policy import LandMode, LandTo


class CodeOrigin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where hosts get a task's code from."""

    #: What `git clone` takes.
    url: str
    #: The commit that the task begins from; empty: the tip of its branch.
    commit: str = ""
    #: The task's directory below the top of the repository.
    subdirectory: str = ""
    #: How the work lands by the settings of the host that made the task, and on which branch. With
    #: `branch` that host lands it, in its own repository.
    land: LandMode = "branch"
    land_to: LandTo = "branch"
    into: str = ""
    #: What was not committed when the task was made: no host begins before it is pushed, and then
    #: every host begins at the commit that holds it, wherever the branch stands.
    changes: Literal["", "awaited", "pushed"] = ""

    @property
    def lands_at_maker(self) -> bool:
        """The branch that the work lands on is in the repository of the host that made the task."""
        return self.land != "branch" and self.land_to == "branch"

    @property
    def lands_on_remote(self) -> bool:
        """The branch that the work lands on is in the repository that all hosts reach."""
        return self.land != "branch" and not self.lands_at_maker
