"""A queue that is gone, emptied or replaced is refused, and never made anew beside tasks."""

import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from fleet import config
from fleet.config import Config
from fleet.control.init import init
from fleet.errors import WrongQueue
from fleet.queue import identity, open_queue
from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql import sqlite
from fleet.queue.sql.sqlite import open_embedded


@pytest.fixture
def home(home):
    home.config.write_text(config.default_text(queue="embedded"))
    with closing(open_embedded(home.path)) as queue:
        (home.tasks / queue.add(Draft(title="kept")).id).mkdir()
    return home


def remove(home):
    for path in home.path.glob("queue.db*"):
        path.unlink()


def empty(home):
    remove(home)
    (home.path / "queue.db").touch(mode=0o600)


def replace(home):
    remove(home)
    other = home.path.parent / "other"
    other.mkdir()
    open_embedded(other).close()
    shutil.copy(other / "queue.db", home.path / "queue.db")


def truncate(home):
    """A database of another program's."""
    remove(home)
    with closing(sqlite3.connect(home.path / "queue.db")) as db:
        db.execute("CREATE TABLE other (x)")


class TestOpening:
    @pytest.mark.parametrize("accident", [remove, empty, replace, truncate])
    def test_what_happened_to_the_file_is_said_and_no_new_queue_is_made(self, home, accident):
        """`rm queue.db*` used to end in an empty queue in which every task was gone."""
        accident(home)
        size = (home.path / "queue.db").stat().st_size if accident is not remove else None
        for _ in range(2):
            with pytest.raises(WrongQueue, match=r"gone or was emptied|another one") as refused:
                open_queue(home.path, Config(queue="embedded"))
            assert "fleet queue restore" in refused.value.hint
        after = home.path / "queue.db"
        assert (after.stat().st_size if after.exists() else None) == size

    def test_a_home_from_before_there_were_ids_gets_one_and_keeps_its_tasks(self, home):
        """An upgrade needs nothing of its user."""
        (home.path / identity.FILE).unlink()
        with closing(sqlite3.connect(home.path / "queue.db")) as db, db:
            db.execute("DELETE FROM meta WHERE key = 'identity'")
        with closing(open_queue(home.path, Config(queue="embedded"))) as queue:
            assert len(queue.find(Filter())) == 1
        assert identity.known_ids(home.path)["embedded"]
        remove(home)
        with pytest.raises(WrongQueue):
            open_queue(home.path, Config(queue="embedded"))

    def test_beside_tasks_no_queue_is_made_even_without_a_known_id(self, home):
        """The home's record may have gone with the queue: `rm *` in the home."""
        remove(home)
        (home.path / identity.FILE).unlink()
        with pytest.raises(WrongQueue, match="holds tasks"):
            open_queue(home.path, Config(queue="embedded"))

    def test_a_queue_that_another_process_makes_meanwhile_is_opened(self, tmp_path, monkeypatch):
        """Many may open a new home at once: what was not there a moment ago is not gone."""

        def made_meanwhile():
            with closing(open_embedded(tmp_path, prefix="first")) as queue:
                (tmp_path / "tasks" / queue.add(Draft(title="its")).id).mkdir(parents=True)
            return True

        monkeypatch.setattr(sqlite, "is_empty", lambda _: monkeypatch.undo() or made_meanwhile())
        with closing(open_embedded(tmp_path)) as queue:
            assert [task.title for task in queue.find(Filter())] == ["its"]

    def test_init_makes_no_second_queue_either(self, home):
        """`fleet init` is what a person tries first; it is the same accident."""
        remove(home)
        with pytest.raises(WrongQueue):
            init(home, queue=None, permissions="edit", force=False, ask=lambda: "edit")
        assert not (home.path / "queue.db").exists()

    def test_a_queue_that_the_operator_asks_for_is_made_beside_tasks(self, home):
        """Moving from beads to the embedded queue in one home stays possible."""
        remove(home)
        (home.path / identity.FILE).unlink()
        home.config.write_text(config.default_text(queue="postgresql://x/y"))
        init(home, queue="embedded", permissions="edit", force=False, ask=lambda: "edit")
        assert (home.path / "queue.db").exists()


class TestWhileOpen:
    @pytest.mark.parametrize("accident", [remove, empty, replace])
    def test_an_open_queue_notices_before_its_next_write(self, home, accident):
        """What is written to a file without a name is lost."""
        with closing(open_embedded(home.path)) as queue:
            queue.add(Draft(title="before"))
            accident(home)
            with pytest.raises(WrongQueue, match="while it was in use"):
                queue.add(Draft(title="lost"))
            with pytest.raises(WrongQueue):
                queue.wait(timedelta(0))

    def test_a_lost_log_is_noticed_too(self, home):
        """The newest commits stand in queue.db-wal alone."""
        with closing(open_embedded(home.path)) as queue:
            queue.add(Draft(title="before"))
            (home.path / "queue.db-wal").unlink()
            with pytest.raises(WrongQueue, match="log"):
                queue.add(Draft(title="lost"))

    def test_other_connections_come_and_go_unnoticed(self, home):
        """Only a change of the files themselves counts."""
        with closing(open_embedded(home.path)) as queue:
            for number in range(3):
                with closing(open_embedded(home.path)) as other:
                    other.add(Draft(title=str(number)))
            assert len(queue.find(Filter())) == 4
