"""What a host writes down of a task that other hosts work on too."""

import pytest

from fleet.control import Control
from fleet.control.hosts.other_hosts import write_settings
from fleet.errors import QueueError
from fleet.home import task_json
from fleet.queue.protocol import Draft
from fleet.schemas import Settings


def test_settings_that_the_queue_did_not_take_are_not_on_disk_either(fleet, monkeypatch):
    """The file counts first on this host: with it changed, the next `fleet retry` would find the
    pushed files of the task noted, and no host would ever be told of them.
    """
    monkeypatch.setattr(Control, "is_shared", property(lambda _: True))
    before, after = Settings(cwd="/before"), Settings(cwd="/after")
    task = fleet.queue.add(Draft(title="t"))
    task_json.write(fleet.home, task.id, before)

    def silent(*_):
        raise QueueError("the server does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(fleet.queue, "add_metadata", silent)
        with pytest.raises(QueueError):
            write_settings(fleet, task, after)
    assert task_json.read(fleet.home, task.id) == before

    write_settings(fleet, task, after)
    assert task_json.read(fleet.home, task.id) == after
    assert fleet.queue.get(task.id).metadata["fleet"]["cwd"] == "/after"
