"""Tasks that a home knows and its queue, which was set back, does not."""

from contextlib import closing

import pytest

from fleet.config import Config
from fleet.control.queue.queue_care import condition
from fleet.home import task_json
from fleet.queue.protocol import Draft
from fleet.queue.sql.hosts import server_copy
from fleet.queue.sql.postgres import open_postgres
from fleet.schemas import Settings
from tests.builders import a_run
from tests.contract.test_hosts import TTL


@pytest.fixture
def queue(postgres_dsn, home):
    with closing(open_postgres(postgres_dsn, home=home.path)) as found:
        yield found


def test_tasks_that_a_copy_does_not_know_are_named_with_what_is_known_of_them(
    queue, home, postgres_dsn
):
    """One that ran here has its title and prompt; nothing is said before the queue went back."""
    known = queue.add(Draft(title="known")).id
    for task_id in (known, "fleet-ran", "fleet-new"):
        task_json.write(home, task_id, Settings(cwd="/srv/app"))
    run = a_run(home.task("fleet-ran"))
    (run.path / "prompt.md").write_text("# Task fleet-ran: Port the parser\n\nAll of it.\n")
    config = Config(queue=postgres_dsn)
    assert condition(home, config).missing == ()
    server_copy.hold_off(queue, "a copy", TTL)
    new, ran = condition(home, config).missing
    assert (new.id, new.title, new.cwd, new.prompt) == ("fleet-new", "", "/srv/app", "")
    assert (ran.id, ran.title) == ("fleet-ran", "Port the parser")
    assert ran.prompt == str(run.path / "prompt.md")
