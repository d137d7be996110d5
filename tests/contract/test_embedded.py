"""The embedded queue keeps the contract."""

from contextlib import ExitStack, closing

import pytest

from fleet.queue.sql.sqlite import open_embedded
from tests.contract.queue_contract import QueueContract


class TestEmbedded(QueueContract):
    @pytest.fixture
    def open_queue(self, tmp_path, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_embedded(tmp_path, clock=clock)))
