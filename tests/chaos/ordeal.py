"""One ordeal: tasks whose agents notice each other, and a hand that kills until all is done."""

import json
import random
import signal
import subprocess
import time
from collections import Counter
from typing import NamedTuple

from fleet.processes import process_identity
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import Run
from tests.story.scene import Scene, processes_of

#: A task that has lost this many runs is left alone: the pause before its next run doubles each
#: time, and a hand that kills the last living run again and again would only wait for pauses.
MOST_OF_ONE = 4


class Report(NamedTuple):
    """What came of it. All but the first six have to be nothing."""

    seed: int
    tasks: int
    seconds: float
    supervisors_killed: int
    keepers_killed: int
    runs: int
    #: Tasks that are not closed in the end.
    lost: int
    #: Agents that met another one on their task.
    overlapping: int
    #: Tasks whose agent began more than once, though no keeper was killed.
    repeated: int
    #: Runs whose events were not written exactly once.
    miswritten: int
    #: Processes that are left when the last supervisor has ended.
    orphans: int

    @property
    def clean(self):
        return not any(self[6:])

    def __str__(self):
        rows = self._asdict().items()
        return "\n".join(f"{name.replace('_', ' '):20}{value}" for name, value in rows)


class Ordeal:
    def __init__(self, root, *, tasks, slots, seed, keepers=False, every=1.0, most=None):
        self.dice = random.Random(seed)
        self.seed = seed
        self.every = every
        #: How often something is killed, at most.
        self.most = most
        self.keepers = keepers
        self.scene = Scene(root, max_concurrent=slots, retry_limit=100)
        self.tasks = [self._add() for _ in range(tasks)]
        self.killed = Counter()

    def _add(self):
        seconds = self.dice.uniform(0.05, 0.3)
        return self.scene.add(f"alone mark:begin sleep:{seconds:.3f} tool mark:end done end")

    def run(self, limit):
        """Kill and start anew until the work is done or the time is over; the report."""
        began = time.monotonic()
        supervisor = self.scene.supervise("--until-idle", "--quiet")
        try:
            while time.monotonic() - began < limit:
                try:
                    code = supervisor.wait(self.dice.uniform(0.5, 1.5) * self.every)
                except subprocess.TimeoutExpired:
                    if self._kill_something(supervisor):
                        continue
                    code = supervisor.wait()
                if code == 0:
                    break
                assert code == -signal.SIGKILL, self.scene.screen()
                supervisor = self.scene.supervise("--until-idle", "--quiet")
            return self._report(time.monotonic() - began)
        finally:
            self.scene.close()

    def _kill_something(self, supervisor):
        """True: the supervisor lives."""
        if self.most is not None and self.killed.total() >= self.most:
            return True
        if self.keepers:
            for run in self.dice.sample(lives := self._lives(), min(2, len(lives))):
                self.killed["keeper"] += process_identity.send(run.started().keeper, signal.SIGKILL)
            if self.dice.random() < 0.7:
                return True
        supervisor.kill()
        self.killed["supervisor"] += 1
        return False

    def _lives(self):
        """Runs with a keeper to kill. One that was killed before leaves an outcome and no exit."""
        over = ("exit.json", "outcome.json")
        started = self.scene.home.tasks.glob("*/runs/*/started")
        runs = [path.parent for path in started if int(path.parent.name) <= MOST_OF_ONE]
        return [Run(path) for path in runs if not any((path / name).exists() for name in over)]

    def _report(self, seconds):
        closed = sum(self.scene.status(task) == "closed" for task in self.tasks)
        began = [len(self.scene.lines(task, "begin")) for task in self.tasks]
        witness = [line for task in self.tasks for line in self.scene.lines(task, "witness")]
        return Report(
            seed=self.seed,
            tasks=len(self.tasks),
            seconds=round(seconds, 1),
            supervisors_killed=self.killed["supervisor"],
            keepers_killed=self.killed["keeper"],
            runs=sum(len(self.scene.runs(task)) for task in self.tasks),
            lost=len(self.tasks) - closed,
            overlapping=len(witness),
            repeated=0 if self.keepers else sum(count > 1 for count in began),
            miswritten=sum(self._miswritten(task) for task in self.tasks),
            orphans=len(processes_of(self.scene.home.path)),
        )

    def _miswritten(self, task):
        """Runs that ended well and whose events do not stand there once and in order."""
        events = [json.loads(line) for line in self.scene.lines(task, "events.jsonl")]
        good = [run for run in self.scene.runs(task) if (end := run.exit()) and end.code == 0]
        wrong = 0
        for run in good:
            kinds = [each["kind"] for each in events if each["run"] == run.number]
            kinds = [kind for kind in kinds if kind != "fleet_started"]  # lost with its supervisor
            wrong += kinds != ["tool_use", "session_ended", "fleet_ended"] or not read_ending(run)
        return wrong
