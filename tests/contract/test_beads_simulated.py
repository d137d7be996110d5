"""The beads queue keeps the contract on every shape of `bd`, played by a fast stand-in."""

from contextlib import ExitStack, closing

import pytest

from tests.contract.beads_facts import BeadsFacts, only
from tests.contract.queue_facts.claiming import Claiming
from tests.contract.queue_facts.settling import Settling
from tests.simulated.beads import SimulatedBeads


class TestBeads13(BeadsFacts):
    """The guarded updates and the envelope of 1.3."""

    version, shape = "1.3.0", "data"

    @pytest.fixture
    def open_queue(self, tmp_path, clock):
        beads = SimulatedBeads(tmp_path, version=self.version, shape=self.shape)
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(beads.open(clock=clock)))


class TestBeads10(TestBeads13):
    """The `--claim` and the bare arrays of 1.0; adding and finding are the same calls in both."""

    version, shape = "1.0.5", "bare"


only(TestBeads10, {name for part in (Claiming, Settling) for name in dir(part) if "test_" in name})
