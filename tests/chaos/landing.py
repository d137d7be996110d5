"""One ordeal of landing: tasks that conflict with each other, while the lander is killed."""

import hashlib
import random
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from fleet.cli.run.run import NEEDS_YOU
from fleet.git.commit_words import TRAILER
from fleet.home import landing_json, status_file
from tests.repos import ENV, Repo
from tests.story.scene import PATIENCE, Scene, processes_of

#: Passes while no two of the files `part-*` hold the same line.
VERIFY = 'test -z "$(cat part-* | sort | uniq -d)"'
STEPS = "tool script done end"
_NAMES = [f"GIT_{who}_{what}=a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
_COMMIT = "git add -A; git diff --cached --quiet && test ! -e .git/MERGE_HEAD || git commit -qm it"

#: What the agent of a task does, by the kind of task, in its first run and when it was sent back.
SCRIPTS = {
    "clean": "echo {id} > part-{id}",
    # All append to one file: the lines of both sides are kept.
    "textual": (
        "sed -i -e '/^<<<<<<< /d' -e '/^||||||| /,/^=======$/d' -e '/^=======$/d'"
        " -e '/^>>>>>>> /d' shared\n"
        "grep -qx {id} shared || echo {id} >> shared"
    ),
    # Two of a kind hold the same line: each passes alone.
    "semantic": (
        "if cat $(ls part-* | grep -vx part-{id}) | grep -qx twin-{twin};"
        " then echo {id} > part-{id}; else echo twin-{twin} > part-{id}; fi"
    ),
    "broken": "echo bad > part-{id}-a; echo bad > part-{id}-b",
}
#: Seconds that a supervisor takes to begin on a machine with nothing else to do.
USUAL_START = 0.4
#: The shares of the kinds; the rest is clean.
SHARES = {"textual": 0.10, "semantic": 0.05, "broken": 0.05}


class LandingReport(NamedTuple):
    """What came of it. All but the first eight have to be nothing."""

    seed: int
    tasks: int
    seconds: float
    supervisors_killed: int
    runs: int
    sent_back: int
    values_of_main: int
    values_of_the_line: int
    #: Values that the branch or its line took and that fail a fresh check.
    unverified: int
    #: Closed tasks whose candidate is no part of the branch.
    closed_unlanded: int
    landed_twice: int
    #: Tasks that are not broken and whose work is neither on its line, exactly once and closed, nor
    #: on its way: still under way when the time was over, or left to a person after `land_tries`.
    lost: int
    unfinished: int
    left_to_a_person: int
    #: Broken tasks that are closed.
    broken_closed: int
    #: Bytes of the dirty checkout that are not as they were, and files of the clean one.
    dirty_touched: int
    clean_differs: int
    orphans: int

    @property
    def clean(self):
        return not any(self[8:])

    def __str__(self):
        rows = self._asdict().items()
        return "\n".join(f"{name.replace('_', ' '):20}{value}" for name, value in rows)


class LandingOrdeal:
    """Tasks for two branches: `main`, clean in the project, and `side`, dirty in a linked tree."""

    def __init__(self, root, *, tasks, slots, seed, every=1.0, most=None):
        self.dice, self.seed, self.every, self.most = random.Random(seed), seed, every, most
        self.scene = Scene(root, max_concurrent=slots, retry_limit=2, land="auto", retry_wait_s=1)
        self.scene.env = {**self.scene.env, **ENV, "PATH": self.scene.env["PATH"]}
        self.repo = Repo(self.scene.project)
        self.repo.put("part-0", "zero\n")
        self.repo.commit("first", shared="start\n")
        self.repo.git("worktree", "add", "-q", "-b", "side", str(root / "dirty"))
        self.dirty = root / "dirty"
        (self.dirty / "shared").write_text("a person is at work here\n")
        # In the way of all that lands there, also where it does not overlap.
        unfinished = self.scene.project / ".git/worktrees/dirty/MERGE_HEAD"
        unfinished.write_text(self.repo.git("rev-parse", "side") + "\n")
        log = self.scene.project / ".git/logs/refs/fleet/land/side"
        log.parent.mkdir(parents=True)
        log.touch()  # where there is a log, git goes on with it
        self.before = _digest(self.dirty)
        kinds = [kind for kind, share in SHARES.items() for _ in range(round(tasks * share))]
        kinds += ["clean"] * (tasks - len(kinds))
        self.dice.shuffle(kinds)
        self.tasks = {}
        self.branches = {}
        for number, kind in enumerate(kinds):
            branch = "side" if number % 4 == 3 else "main"
            self.tasks[self._add(kind, branch, number)] = kind
        self.killed = 0

    def _add(self, kind, branch, number):
        task_id = self.scene.add(STEPS, branch=branch, verify=(VERIFY,), title=f"{kind} {number}")
        self.branches[task_id] = branch
        script = SCRIPTS[kind].format(id=task_id, twin=sum(map(len, self.tasks.values())) % 3)
        folder = self.scene.folder(task_id)
        folder.mkdir(exist_ok=True)
        (folder / "script").write_text(f"export {' '.join(_NAMES)}\n{script}\n{_COMMIT}\n")
        return task_id

    def run(self, limit):
        """Kill and start anew until nothing is left to do or the time is over; the report."""
        began = time.monotonic()
        supervisor, life = self._supervisor(), self.every
        try:
            while time.monotonic() - began < limit:
                try:
                    code = supervisor.wait(self.dice.uniform(0.5, 1.5) * life)
                except subprocess.TimeoutExpired:
                    if self._is_under_way() and (self.most is None or self.killed < self.most):
                        supervisor.kill()
                        self.killed += 1
                    continue
                if code in (0, NEEDS_YOU):
                    break
                assert code == -signal.SIGKILL, self.scene.screen()
                started = time.monotonic()
                supervisor = self._supervisor()
                # On a machine that is busy elsewhere a second is short: all lives get longer.
                life = self.every * max(1.0, (time.monotonic() - started) / USUAL_START)
            return self._report(time.monotonic() - began)
        finally:
            self.scene.close()

    def _supervisor(self):
        """A supervisor that has begun to work."""
        status, end = self.scene.home.path / status_file.FILE, time.monotonic() + PATIENCE
        before = status.stat().st_mtime_ns if status.exists() else 0
        supervisor = self.scene.supervise("--until-idle", "--quiet")
        while supervisor.poll() is None and time.monotonic() < end:
            if status.exists() and status.stat().st_mtime_ns != before:
                break
            time.sleep(0.01)
        return supervisor

    def _is_under_way(self):
        """There is something to lose: work that is not done, or that waits to land."""
        waiting = (
            landing_json.read(self.scene.home, task)
            for task in landing_json.unlanded(self.scene.home)
        )
        if any(
            landing is not None and landing.state not in ("asks", "ahead") for landing in waiting
        ):
            return True
        return any(task.status in ("open", "in_progress") for task in self.scene.open_tasks())

    @staticmethod
    def _is_ahead(landing):
        """The line has the work, and the dirty checkout keeps the branch from it."""
        return landing is not None and landing.state == "ahead"

    def _report(self, seconds):
        landings = {task: landing_json.believed(self.scene.home, task) for task in self.tasks}
        on_its_way = {
            task: landings[task].state if landings[task] else "no landing"
            for task in self.tasks
            if self.scene.status(task) != "closed" and not self._is_ahead(landings[task])
        }
        lines = {"main": "refs/heads/main", "side": "refs/fleet/land/side"}
        values = {branch: self._values(ref) for branch, ref in lines.items()}
        closed = [task for task in self.tasks if self.scene.status(task) == "closed"]
        good = [task for task, kind in self.tasks.items() if kind != "broken"]
        return LandingReport(
            seed=self.seed,
            tasks=len(self.tasks),
            seconds=round(seconds, 1),
            supervisors_killed=self.killed,
            runs=sum(len(self.scene.runs(task)) for task in self.tasks),
            sent_back=sum(landing.tries for landing in landings.values() if landing),
            values_of_main=len(values["main"]),
            values_of_the_line=len(values["side"]),
            unverified=sum(not self._passes(each) for each in {*values["main"], *values["side"]}),
            closed_unlanded=sum(
                not (
                    landings[task]
                    and self._holds(f"refs/heads/{self.branches[task]}", landings[task])
                )
                for task in closed
            ),
            landed_twice=sum(
                count > 1 for ref in lines.values() for count in self._landed(ref).values()
            ),
            lost=sum(
                not self._is_there(task, lines[self.branches[task]])
                for task in good
                if task not in on_its_way
            ),
            unfinished=sum(on_its_way.get(task, "asks") != "asks" for task in good),
            left_to_a_person=sum(on_its_way.get(task) == "asks" for task in good),
            broken_closed=sum(self.tasks[task] == "broken" for task in closed),
            dirty_touched=int(_digest(self.dirty) != self.before),
            clean_differs=len(self.repo.git("status", "--porcelain").splitlines())
            + (self.scene.project / ".git/index.lock").exists(),
            orphans=len(processes_of(self.scene.home.path)),
        )

    def _values(self, ref):
        """Every value that a ref ever had, by its log."""
        listed = self.repo.git("reflog", "show", "--format=%H", ref, "--").split()
        return [*dict.fromkeys([*listed, self.repo.git("rev-parse", ref)])]

    def _passes(self, commit):
        """Whether a value passes its check from nothing."""
        with tempfile.TemporaryDirectory(prefix="fleet-value-") as folder:
            unpack = f"git archive {commit} | tar -x -C {folder}"
            subprocess.run(["sh", "-c", unpack], cwd=self.repo.root, env=ENV, check=True)
            return subprocess.run(["sh", "-c", VERIFY], cwd=folder, check=False).returncode == 0

    def _holds(self, ref, landing):
        argv = ["git", "merge-base", "--is-ancestor", landing.commit or "none", ref]
        done = subprocess.run(argv, cwd=self.repo.root, env=ENV, check=False, capture_output=True)
        return done.returncode == 0

    def _landed(self, ref):
        """How often each task was merged onto a line."""
        trailer = f"%(trailers:key={TRAILER},valueonly)"
        return Counter(self.repo.git("log", "--first-parent", f"--format={trailer}", ref).split())

    def _is_there(self, task, ref):
        """The work of a task that is closed is on its line once."""
        if self.tasks[task] == "textual":
            text = self.repo.git("show", f"{ref}:shared", ok=False)
            found = re.findall(rf"^{re.escape(task)}$", text, re.MULTILINE)
        else:
            found = self.repo.git("ls-tree", "--name-only", ref, f"part-{task}").split()
        return len(found) == 1


def _digest(folder):
    """All files of a working tree, and its index, as one value."""
    git_dir = Path((folder / ".git").read_text().removeprefix("gitdir:").strip())
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    whole = hashlib.sha256()
    for path in (*files, git_dir / "index", git_dir / "HEAD"):
        whole.update(f"{path}{path.stat().st_mtime_ns}".encode() + path.read_bytes())
    return whole.hexdigest()
