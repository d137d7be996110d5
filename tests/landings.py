"""A home with a repository and tasks whose work is verified and waits to land, for tests."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import structs

from fleet import config
from fleet.evidence.inspect_run import landing_work
from fleet.files import seals
from fleet.git.run_baseline import changes_since
from fleet.home import Home, landing_json, make_home
from fleet.home.landing_json import Landing
from fleet.landing.land_target import LanderSetup, land_target
from fleet.landing.train_store import branches_behind
from fleet.landing.waiting_work import survey, target_key
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Blocked, Policy, Released, Sandbox
from fleet.schemas.policy import LandRules
from fleet.schemas.waits import ToLand
from tests.clones import prepared
from tests.repos import Repo
from tests.settled import settle

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class LandHome:
    """One home on one repository."""

    def __init__(self, root, repo=None, *, name="home"):
        self.home = Home(root / name)
        make_home(self.home)
        seals.begin(self.home.path)
        self.home.config.write_text(config.default_text(queue="embedded"))
        self.queue = open_embedded(self.home.path)
        self.repo = repo or Repo(root / "project")
        self.repo.git("config", "user.name", "user")
        #: Each run of the verify command adds a line here.
        self.ran = root / "ran"
        self.abandon = threading.Event()
        #: The rules that each task's work lands by.
        self.rules = {}

    @property
    def verify(self):
        """Green while no two of the files `part-*` hold the same word, and none says bad."""
        odd = '[ -z "$(cat part-* | sort | uniq -d)" ] && ! grep -q bad part-*'
        return f"echo run >> {self.ran}; {odd}"

    def accepted(self, title, *, checked=True, base="main", **given):
        """A task whose run left these files in its clone; returns its id."""
        files = {name.replace("_", "-"): text for name, text in given.items() if name[:4] == "part"}
        files |= given.get("files", {})
        known = ("mode", "how", "to", "protect", "tries", "batch", "own")
        wishes = {each: given[each] for each in known if each in given}
        task = self.queue.add(Draft(title=title))
        (lease,) = self.queue.claim("me", ttl=timedelta(hours=1))
        assert lease.task.id == task.id
        verify = given.get("verify", (self.verify,))
        rules = LandRules(**{"mode": "auto", "into": base, "verify": verify, **wishes})
        policy = Policy(
            work_in="clone", verify=verify, land=rules, setup=given.get("setup", ()),
            sandbox=Sandbox(level=given.get("sandbox", "off")),
        )  # fmt: skip
        self.rules[task.id] = rules
        where = self.repo.root / given.get("inside", "")
        place = prepared(self.home, where, task.id, land=rules)
        spec = RunSpec(
            id=f"me.{task.id}.1", argv=("x",), cwd=place.cwd, policy=policy, base=place.base
        )
        run = new_run(self.home.task(task.id), spec)
        for path, text in files.items():
            file = Path(place.cwd) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
        changes = changes_since(place.base, run)
        work = landing_work(run, policy, place.base, changes, ())
        assert work is not None, changes.trouble
        landing = Landing(
            state="waiting", repository=work.repository, into=work.into, run=run.number,
            base=work.base, tree=work.tree, checked=checked, checks=verify if checked else (),
            title=title, reason=f"{title} is done", how=rules.how, to=rules.to, at=NOW,
        )  # fmt: skip
        landing_json.write(self.home, task.id, landing)
        assert settle(self.queue, lease, Blocked(waits=ToLand(into="main"))) is None
        return task.id

    def verified_beside(self, open_task, title, **given):
        """The same while another task is open, which no agent takes meanwhile."""
        (lease,) = self.queue.claim("other", ttl=timedelta(hours=1))
        assert lease.task.id == open_task
        made = self.accepted(title, **given)
        assert settle(self.queue, lease, Released(note="given back")) is None
        return made

    def setup(self):
        return LanderSetup(
            home=self.home, open_queue=lambda: open_embedded(self.home.path), by="me",
            now=lambda: NOW, abandon=self.abandon,
        )  # fmt: skip

    def land(self, trains=20):
        """Run trains until none has more to do; the reports."""
        reports = []
        for _ in range(trains):
            keys = list(survey(self.home).work)
            made = [land_target(self.setup(), key) for key in keys]
            reports += made
            if not any(each.end.more for each in made):
                break
        for learnt in branches_behind(self.home):
            reports.append(land_target(self.setup(), target_key(learnt.repository, learnt.branch)))
        return reports

    def approve(self, task_id):
        def approved(landing):
            return structs.replace(landing, state="waiting", why="", approved_by="ann")

        return landing_json.change(self.home, task_id, approved)

    def landing(self, task_id):
        return landing_json.believed(self.home, task_id)

    def state(self, task_id):
        return self.landing(task_id).state

    def status(self, task_id):
        return self.queue.get(task_id).status

    def runs(self):
        """How often the verify command ran."""
        return len(self.ran.read_text().splitlines()) if self.ran.exists() else 0

    def values(self, branch="main"):
        """Every value that the branch had, the newest first."""
        return self.repo.git("reflog", "show", "--format=%H", f"refs/heads/{branch}").split()

    def shown(self, path, ref="main"):
        return self.repo.git("show", f"{ref}:{path}")
