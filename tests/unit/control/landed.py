"""A home with tasks whose work waits to land, as its records and a real repository tell."""

from datetime import timedelta

from fleet import config
from fleet.control import Control
from fleet.home import Home, clone_record, landing_json, make_home, task_json
from fleet.home.clone_record import CloneRecord
from fleet.home.landing_json import Landing
from fleet.queue.protocol import Draft
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Settings
from fleet.schemas.waits import ToLand
from tests.builders import NOW
from tests.repos import Repo


class WaitingHome:
    """One project on `main`, and tasks with commits of their own."""

    def __init__(self, root, **settings):
        self.repo = Repo(root / "project")
        self.base = self.repo.commit(a="one\ntwo\nthree\n", b="b\n")
        self.home = Home(root / "home")
        make_home(self.home)
        text = config.default_text(queue="embedded", land="auto", **settings)
        self.home.config.write_text(text)
        self.fleet = Control(self.home, config.load(self.home.config), {"BEADS_ACTOR": "ada"})

    def configure(self, text):
        """Add lines to runtime.toml."""
        self.home.config.write_text(self.home.config.read_text() + text)
        self.fleet.config = config.load(self.home.config)

    def task(self, title="Make it loud", *, closed=False, **files):
        """A task with a branch of its own that changes these files."""
        task = self.fleet.queue.add(Draft(title=title))
        task_json.write(self.home, task.id, Settings(cwd=str(self.repo.root), branch="main"))
        record = CloneRecord(repository=str(self.repo.root), commit=self.base, made=True)
        clone_record.write(self.home, task.id, record)
        self.repo.git("checkout", "-q", "-b", f"fleet/{task.id}", self.base)
        tip = self.repo.commit(title, **files)
        self.repo.git("checkout", "-q", "main")
        if closed:
            self.fleet.queue.close_task(self.fleet.get(task.id), by="us", reason="done")
        return task.id, tip

    def waits(self, state="waiting", *, title="Make it loud", into="main", files=None, **facts):
        """A task whose work is on its way, with the record of that."""
        task_id, tip = self.task(title, **(files or {"a": "one\nTWO\nthree\n"}))
        landing = Landing(
            state=state, repository=str(self.repo.root), into=into, run=1, base=self.base,
            tree=self.repo.git("rev-parse", f"{tip}^{{tree}}"), commit=tip, title=title,
            at=NOW - timedelta(hours=2),
            **{"checked": True, **facts},
        )  # fmt: skip
        landing_json.write(self.home, task_id, landing)
        self.run(task_id)
        if state != "back":
            waits_to_land = ToLand(into=into)
            self.fleet.queue.reopen_task(self.fleet.get(task_id), by="us", waits=waits_to_land)
        return task_id

    def run(self, task_id):
        """One more run of a task."""
        spec = RunSpec(argv=("true",), cwd=str(self.repo.root))
        return new_run(self.home.task(task_id), spec)
