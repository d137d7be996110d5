"""How long a lease lasts, how often a lease is renewed, and when a run that could not be renewed
must end. Pure.

On a queue that hosts share a lease that ran out is another host's. So the stop of a run begins so
early that its agent is dead before the lease ends, even an agent that ignores SIGTERM. The keeper
does the same a little later, for the case that there is no supervisor any more. Both count from
the moment at which the renewal was asked for, on a clock that goes on while the machine sleeps, and
by the time that the run was given to end when it began, whatever the settings say since.
"""

from datetime import timedelta

from msgspec import Struct

#: A lease is renewed six times before it ends.
_PARTS = 6
_ALONE = timedelta(minutes=10)


class LeaseTerms(Struct, frozen=True, kw_only=True):
    """The terms of one supervisor's leases, in seconds but for `length`."""

    length: timedelta
    renew_every: float
    #: Other hosts claim from the queue too, so that no lease may be late.
    shared: bool = False

    def stop_before(self, grace: float) -> float:
        """How long before a lease's end the supervisor stops a run that has `grace` to end."""
        return grace + self.renew_every

    def keeper_stop_before(self, grace: float) -> float:
        """How long before a lease's end the keeper stops the run, if no supervisor did."""
        return grace + self.renew_every / 2


ALONE = LeaseTerms(length=_ALONE, renew_every=60.0)


def shared_terms(lease_s: float) -> LeaseTerms:
    """The terms on a queue that hosts share."""
    return LeaseTerms(length=timedelta(seconds=lease_s), renew_every=lease_s / _PARTS, shared=True)


def lease_problem(lease_s: int, grace_s: int) -> str:
    """Why these settings do not go together; empty if they do."""
    if lease_s >= 2 * grace_s:
        return ""
    return (
        f"must be at least twice grace_s ({grace_s}), so that an agent is dead before its lease"
        " ends"
    )
