"""A task whose work could not land: its clone with the merge begun, for tests."""

from pathlib import Path

from fleet.evidence.landing_rules import landing_findings
from fleet.git import run_baseline, snapshot_names
from fleet.git.clone.task_refs import task_refs
from fleet.git.land.begin_merge import begin_merge, plan_merge
from fleet.git.land.merge_facts import merge_facts
from fleet.home import Home, make_home
from fleet.runs.run_directory import Run
from fleet.supervisor.cleanup import collect
from tests.clones import TASK, clone_of, git
from tests.repos import Repo


def sent_back(root, **files):
    """The same in a directory with nothing in it."""
    home = Home(root / "home")
    make_home(home)
    return SentBack(home, Repo(root / "repo"), **files)


class SentBack:
    """Own work and landed work, by file; `uncommitted` is what the agent left so."""

    def __init__(self, home, repo, *, before=None, own=None, landed=None, uncommitted=None):
        self.home, self.repo = home, repo
        self._put(repo.root, before or {})
        #: The commit that the clone begins at.
        self.start = repo.commit("before")
        self.place = clone_of(home, repo)
        self._put(self.place, own or {})
        git(self.place, "add", "-A")
        git(self.place, "commit", "-qm", "own", "--allow-empty")
        self._put(self.place, uncommitted or {})
        collect(home, TASK)
        self.candidate = repo.git("rev-parse", f"fleet/{TASK}")
        self._put(repo.root, landed or {})
        self.line = repo.commit("landed")
        self.refs = task_refs(home, TASK)

    def begin(self, left="", line="", base=""):
        self.plan = plan_merge(
            self.home, self.refs,
            candidate=self.candidate, left=left, line=line or self.line, title="the title",
            base=base,
        )  # fmt: skip
        return self.again()

    def again(self):
        """The same once more, as after a kill."""
        self.begun = begin_merge(self.home, self.refs, self.plan, into="main", title="the title")
        return self.begun

    def put(self, **files):
        self._put(self.place, {name.replace("_dot_", "."): text for name, text in files.items()})

    def commit(self):
        git(self.place, "add", "-A")
        git(self.place, "commit", "-qm", "resolved")

    def findings(self):
        """The rules that the clone breaks as it stands."""
        run = self.home.task(TASK) / "runs/7"
        run.mkdir(parents=True, exist_ok=True)
        keep = self.home.task(TASK) / snapshot_names.INDEX
        base = run_baseline.record_base(
            str(self.place), f"{TASK}/7", home=self.home.path, keep=keep
        )
        tree = run_baseline.changes_since(base, Run(run)).tree
        return landing_findings(merge_facts(self.home, self.refs, self.begun, tree))

    def rules(self):
        return [each.rule for each in self.findings()]

    def read(self, name):
        return Path(self.place, name).read_text()

    @staticmethod
    def _put(root, files):
        for name, text in files.items():
            path = Path(root, name)
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text if isinstance(text, bytes) else text.encode())
