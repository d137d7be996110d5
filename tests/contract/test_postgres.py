"""The PostgreSQL queue keeps the contract, and what is only its own."""

from contextlib import ExitStack, closing

import pytest

from fleet.queue.postgres import open_postgres
from tests.contract.queue_contract import QueueContract


class TestPostgres(QueueContract):
    @pytest.fixture
    def open_queue(self, postgres_dsn, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_postgres(postgres_dsn, clock=clock)))
