"""A beads queue on a simulated bd."""

from contextlib import closing

import pytest

from tests.contract.queue_contract import ManualClock
from tests.simulated.beads import SimulatedBeads, in_process


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def beads(tmp_path):
    with in_process():
        yield SimulatedBeads(tmp_path)


@pytest.fixture
def queue(beads, clock):
    with closing(beads.open(clock=clock)) as queue:
        yield queue
