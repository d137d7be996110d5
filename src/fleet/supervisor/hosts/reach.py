"""What this host can reach just now: repositories that answered, accounts with room."""

import time
from collections.abc import Iterable

from fleet.schemas import Host

#: For how many seconds a repository that did not answer is left to other hosts.
_MISSED = 120.0
#: Seconds between two looks at mirrors and accounts.
_LOOK_EVERY = 5.0


class Reach:
    """What this host can have just now; kept by the loop, and the offer of each claim follows from
    this.
    """

    def __init__(self) -> None:
        self._missed: dict[str, float] = {}
        self._look_at = 0.0
        #: Coders that have no room here, while another host has some.
        self.resting: frozenset[str] = frozenset()

    @property
    def is_due(self) -> bool:
        """The time to look at mirrors and accounts has come; true once for each look."""
        if time.monotonic() < self._look_at:
            return False
        self._look_at = time.monotonic() + _LOOK_EVERY
        return True

    def miss(self, url: str) -> None:
        """A repository did not answer: other hosts may reach it, and this host tries later."""
        self._missed[url] = time.monotonic() + _MISSED

    @property
    def unreachable(self) -> tuple[str, ...]:
        """The repositories that did not answer a short while ago."""
        if not self._missed:
            return ()
        now = time.monotonic()
        self._missed = {url: until for url, until in self._missed.items() if until > now}
        return tuple(sorted(self._missed))


def resting_coders(host: Host, others: Iterable[Host]) -> frozenset[str]:
    """The coders of a host that have no room there, while another host that is up has some."""
    others = list(others)
    mine = {each.partition("/")[0] for each in host.accounts}
    return frozenset(
        coder
        for coder in host.coders
        if coder not in mine and any(other.has_room(coder) for other in others)
    )
