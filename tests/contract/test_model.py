"""Whatever is done in whatever order, each queue does what the plain model does."""

import itertools

from fleet.queue.sql.postgres import open_postgres
from fleet.queue.sql.sqlite import open_embedded
from tests.conftest import often
from tests.contract.postgres_server import empty
from tests.contract.queue_model import check_against_model


def test_the_embedded_queue_is_the_model(tmp_path):
    """Random histories on SQLite agree with the model after every step."""
    homes = (tmp_path / str(n) for n in itertools.count())

    def open_handles(clock):
        home = next(homes)
        home.mkdir()
        return [open_embedded(home, clock=clock) for _ in range(2)]

    check_against_model(open_handles, examples=often(40, 100))


def test_the_postgres_queue_is_the_model(postgres_dsn):
    """Random histories on PostgreSQL agree with the model after every step."""

    def open_handles(clock):
        empty(postgres_dsn)
        return [open_postgres(postgres_dsn, clock=clock) for _ in range(2)]

    check_against_model(open_handles, examples=often(12, 25))
