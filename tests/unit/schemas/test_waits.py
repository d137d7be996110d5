"""Every kind of wait is worded, and is the same value after a way through JSON."""

import msgspec
import pytest

from fleet.schemas.waits import PutOff, Waits, note_of, words
from tests.contract.queue_facts.waiting import ONE_OF_EACH

#: Those of blocked tasks, and the one of an open task.
EVERY_KIND = (*ONE_OF_EACH, PutOff(why="its mirror is being fetched", gate="code"))


@pytest.mark.parametrize("waits", EVERY_KIND, ids=lambda each: type(each).__name__)
def test_a_wait_is_the_same_value_after_json(waits):
    """It is stored so, on every queue and in outcome.json."""
    assert msgspec.json.decode(msgspec.json.encode(waits), type=Waits) == waits


def test_the_examples_hold_every_kind():
    """A kind that is added is held to the same facts."""
    assert {type(each) for each in EVERY_KIND} == set(Waits.__args__)


@pytest.mark.parametrize("waits", EVERY_KIND, ids=lambda each: type(each).__name__)
def test_a_wait_says_what_it_waits_for(waits):
    """In words that no queue refuses; a wait that ends by itself is not noted."""
    said = words(waits, "fleet-1")
    assert said.strip() == said != ""
    assert note_of(waits, "fleet-1") in ("", said)
