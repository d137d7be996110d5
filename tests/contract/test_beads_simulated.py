"""The beads queue keeps the contract on every shape of `bd`, played by a fast stand-in."""

from contextlib import ExitStack, closing

import pytest

from tests.contract.beads_facts import BeadsFacts
from tests.simulated.beads import SimulatedBeads


class TestBeads13(BeadsFacts):
    version, shape = "1.3.0", "data"

    @pytest.fixture
    def open_queue(self, tmp_path, clock):
        beads = SimulatedBeads(tmp_path, version=self.version, shape=self.shape)
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(beads.open(clock=clock)))


class TestBeads10(TestBeads13):
    version, shape = "1.0.5", "bare"
