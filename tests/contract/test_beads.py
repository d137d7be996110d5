"""The beads queue keeps the contract, on the real `bd`.

Every call starts bd's whole engine, a third of a second or more, so by default only the facts
run that depend most on bd itself. All of them run on the stand-in in any case, and here too
with `make slow`.
"""

import os
from contextlib import ExitStack, closing

import pytest

from fleet.queue.beads.queue import open_beads
from tests.contract.beads_facts import BeadsFacts, only
from tests.contract.beads_home import beads_home, pristine_home

__all__ = ["beads_home", "pristine_home"]


class TestBeads(BeadsFacts):
    @pytest.fixture
    def open_queue(self, beads_home, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_beads(beads_home, clock=clock)))


if not os.environ.get("FLEET_SLOW"):
    only(
        TestBeads,
        {
            "test_a_task_comes_back_as_it_was_given",
            "test_add_answers_with_the_stored_task",
            "test_an_id_can_be_chosen_once",
            "test_a_task_put_off_is_deferred",
            "test_a_new_task_can_hold_up_an_older_one",
            "test_a_cycle_is_refused_whole",
            "test_closed_ends_the_task_for_good",
        },
    )
