"""What the tests of the spool share: a home with a task that runs, and the agent of that run."""

import pytest
from msgspec import structs

from fleet.config import Config
from fleet.home import task_json
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.schemas import Settings
from fleet.spool.answer_request import rule, serve
from fleet.spool.asker import Asker
from fleet.spool.drop_box import DropBox
from tests.builders import a_run

SETTINGS = Settings(
    cwd="/my/project", coder="codex", model="o3", verify=("make test",), scope=("src/**",)
)


def request(*words, program="bd", files=()):
    """The bytes of a request, as the client writes them."""
    fields = ["fleet-request-1", len(words) + 1, program, *words, len(files)]
    data = b"".join(f"{field}\0".encode() for field in fields)
    for name, content in dict(files).items():
        data += b"%s\0%d\0%s" % (name.encode(), len(content), content)
    return data


@pytest.fixture
def queue(home):
    queue = open_embedded(home.path)
    yield queue
    queue.close()


@pytest.fixture
def asker(home, queue):
    task = queue.add(Draft(title="the task of the run", id="fleet-own"))
    task_json.write(home, task.id, SETTINGS)
    run = a_run(home.task(task.id), id="me.fleet-own.1")
    return Asker(home=home, config=Config(), task=task, run=run, mark="me.fleet-own.1")


@pytest.fixture
def box(asker):
    asker.run.spool.mkdir()
    box = DropBox(asker.run.spool)
    yield box
    box.close()


@pytest.fixture
def bd(asker, queue):
    """Asks as the agent does, past the box; the answer."""

    def ask(*words, program="bd", files=(), **settings):
        config = structs.replace(asker.config, **settings)
        own = structs.replace(asker, config=config)
        ruled = rule(request(*words, program=program, files=files), own)
        return serve(ruled, own, lambda: queue).answer

    return ask
