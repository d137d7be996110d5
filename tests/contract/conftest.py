"""The queues that fleet answers bd commands on."""

import pytest

from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.sqlite import open_embedded
from tests.contract.bd_answers import Bd, Clock


@pytest.fixture(params=["embedded", "postgres"])
def bd(request, tmp_path):
    """Bd commands on an empty queue of each kind."""
    time = Clock()
    if request.param == "embedded":
        queue = open_embedded(tmp_path, clock=time)
    else:
        queue = open_postgres(request.getfixturevalue("postgres_dsn"), clock=time)
    yield Bd(queue, time)
    queue.close()
