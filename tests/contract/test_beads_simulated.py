"""The beads queue keeps the contract on every shape of `bd`, played by a fast stand-in."""

from contextlib import ExitStack, closing

import pytest

from tests.conftest import SLOW
from tests.contract.beads_facts import BeadsFacts, only
from tests.contract.queue_facts.claiming import Claiming
from tests.contract.queue_facts.settling import Settling
from tests.simulated.beads import SimulatedBeads, in_process


class TestBeads13(BeadsFacts):
    """The guarded updates and the envelope of 1.3."""

    version, shape = "1.3.0", "data"

    @pytest.fixture
    def open_queue(self, tmp_path, clock):
        beads = SimulatedBeads(tmp_path, version=self.version, shape=self.shape)
        with in_process(), ExitStack() as handles:
            yield lambda: handles.enter_context(closing(beads.open(clock=clock)))


class TestBeads10(TestBeads13):
    """The `--claim` and the bare arrays of 1.0; adding and finding are the same calls in both."""

    version, shape = "1.0.5", "bare"


if SLOW:
    parts = (Claiming, Settling)
    only(TestBeads10, {name for part in parts for name in dir(part) if "test_" in name})
else:
    only(
        TestBeads10,
        {
            "test_two_handles_at_once_never_share_a_task",
            "test_a_lost_lease_settles_nothing",
            "test_a_lease_that_ran_out_can_be_taken_over",
            "test_released_gives_the_task_back",
            "test_closed_ends_the_task_for_good",
            "test_blocked_waits_for_a_person",
            "test_a_released_task_waits_for_its_moment",
        },
    )
