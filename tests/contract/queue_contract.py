"""QueueContract: every fact that `fleet.queue.protocol.Queue` promises, for each queue to inherit.

A queue's own test module subclasses it and gives the `open_queue` fixture. Where an
implementation cannot follow the test's clock or keeps a coarser one, it overrides a hook.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from fleet.queue.protocol import Queue
from tests.contract.queue_facts.adding import Adding
from tests.contract.queue_facts.claiming import Claiming
from tests.contract.queue_facts.dependencies import Dependencies
from tests.contract.queue_facts.finding import Finding
from tests.contract.queue_facts.scheduling import Scheduling
from tests.contract.queue_facts.settling import Settling
from tests.contract.queue_facts.waiting import WaitingForPerson
from tests.contract.queue_facts.waking import Waking


class ManualClock:
    """A clock that stands still until the test moves it."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC).replace(microsecond=0)

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, step: timedelta) -> None:
        self.moment += step


class QueueContract(
    Adding, Claiming, Settling, WaitingForPerson, Dependencies, Finding, Waking, Scheduling
):
    """Subclass me as `TestX` and override `open_queue`; the other hooks have good defaults.

    Class attributes that a queue may lower: `not_kept` (names of Draft fields it cannot
    store) and `defers_by_clock` (False where `defer_until` follows the real clock).
    """

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def open_queue(self) -> Callable[[], Queue]:
        """Opens one more handle on this test's queue, with `clock` as its time; closes it after."""
        raise NotImplementedError

    @pytest.fixture
    def queue(self, open_queue: Callable[[], Queue]) -> Queue:
        return open_queue()

    @pytest.fixture
    def advance(self, clock: ManualClock) -> Callable[[timedelta], None]:
        """Let leases and `not_before` see time pass."""
        return clock.advance

    @pytest.fixture
    def tick(self, clock: ManualClock) -> Callable[[], None]:
        """Make the next thing that is created younger than all before it."""
        return lambda: clock.advance(timedelta(seconds=1))
