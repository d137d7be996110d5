"""Whatever is done in whatever order, the beads queue does what the plain model does."""

import itertools
import shutil

import pytest

from fleet.queue.beads.queue import open_beads
from tests.conftest import often, only_slow
from tests.contract.beads_home import pristine_home
from tests.contract.queue_model import check_against_model
from tests.simulated.beads import SimulatedBeads, in_process

__all__ = ["pristine_home"]


@pytest.mark.parametrize("version", ["1.0.5", "1.3.0"])
def test_the_beads_queue_is_the_model(tmp_path, version):
    """Random histories agree with the model after every step, on the stand-in for bd."""
    folders = (tmp_path / str(n) for n in itertools.count())

    def open_handles(clock):
        beads = SimulatedBeads(next(folders), version=version)
        return [beads.open(clock=clock) for _ in range(2)]

    with in_process():
        check_against_model(open_handles, examples=often(1, 3), steps=15)


@only_slow
@pytest.mark.timeout(600)
def test_the_real_bd_is_the_model(pristine_home, tmp_path):
    """One short history on the real bd: each step of it takes seconds."""
    homes = (tmp_path / str(n) for n in itertools.count())

    def open_handles(clock):
        home = shutil.copytree(pristine_home, next(homes))
        return [open_beads(home, clock=clock) for _ in range(2)]

    check_against_model(open_handles, examples=2, steps=10)
