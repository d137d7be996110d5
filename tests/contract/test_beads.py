"""The beads queue keeps the contract, on the real `bd`."""

from contextlib import ExitStack, closing

import pytest

from fleet.queue.beads.queue import open_beads
from tests.contract.beads_home import beads_home, pristine_home
from tests.contract.queue_contract import QueueContract

__all__ = ["beads_home", "pristine_home"]


class TestBeads(QueueContract):
    defers_by_clock = False

    @pytest.fixture
    def open_queue(self, beads_home, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_beads(beads_home, clock=clock)))
