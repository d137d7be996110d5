"""The beads queue keeps the contract, on the real `bd`.

Every call starts bd's whole engine, a third of a second or more, so by default only the facts
run that depend most on bd itself. All of them run on the stand-in in any case, and here too
with `make slow`.
"""

from contextlib import ExitStack, closing

import pytest

from fleet.queue.beads.queue import open_beads
from tests.conftest import SLOW
from tests.contract.beads_facts import BeadsFacts, only
from tests.contract.beads_home import beads_home, pristine_home

__all__ = ["beads_home", "pristine_home"]


class TestBeads(BeadsFacts):
    @pytest.fixture
    def open_queue(self, beads_home, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_beads(beads_home, clock=clock)))


if not SLOW:
    few = {"test_a_task_comes_back_as_it_was_given", "test_a_cycle_is_refused_whole"}
    only(TestBeads, few)  # a claim and a settle are in tests/real/test_beads.py
