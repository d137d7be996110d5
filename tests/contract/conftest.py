"""The queues that fleet answers bd commands on."""

import pytest

from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.sqlite import open_embedded
from tests.contract.bd_desk import Clock, Desk


@pytest.fixture(params=["embedded", "postgres"])
def desk(request, tmp_path):
    """A desk on an empty queue of each kind."""
    time = Clock()
    if request.param == "embedded":
        queue = open_embedded(tmp_path, clock=time)
    else:
        queue = open_postgres(request.getfixturevalue("postgres_dsn"), clock=time)
    yield Desk(queue, time)
    queue.close()
