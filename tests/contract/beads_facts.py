"""What the contract says where beads counts or defers in its own way, and which facts to spare."""

import pytest

from fleet.errors import BadInput
from fleet.queue.protocol import Draft
from tests.contract.queue_contract import QueueContract


class BeadsFacts(QueueContract):
    defers_by_clock = False

    def test_a_title_may_be_as_long_as_the_limit(self, queue):
        """500 bytes fit: that is how bd counts, so one more is refused before bd is asked."""
        assert queue.add(Draft(title="ü" * 250)).title == "ü" * 250
        with pytest.raises(BadInput):
            queue.add(Draft(title="ü" * 250 + "x"))


def only(facts, names):
    """Keep these facts of a contract class; the rest are not collected."""
    unknown = set(names) - set(dir(facts))
    assert not unknown, f"no such facts: {unknown}"
    for name in dir(facts):
        if name.startswith("test_") and name not in names:
            setattr(facts, name, None)
