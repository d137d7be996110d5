"""`fleet land --revert`: take what a task landed off the branch again, as one commit.

The commit goes the way of all work: folded onto the line, verified, and moved by compare-and-swap.
The task is then blocked for a person: closed means landed, and its work is no longer on the branch.
"""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct, structs

from fleet.control import Control, refuse_agents
from fleet.control.landing.withdraw import complete_train, train_of
from fleet.errors import FleetError, Refused
from fleet.git import repository
from fleet.git.commit_object import read_commit, write_commit
from fleet.git.commit_words import TRAILER, author_in
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict, merge_over
from fleet.git.land.target import read_target
from fleet.git.refs import is_ancestor
from fleet.git.repository import Repository
from fleet.home import landing_json
from fleet.home.landing_json import LandedAs, Landing
from fleet.landing.fold.fold_checks import CheckPlan
from fleet.landing.follow_line import finish_followed, follow
from fleet.landing.land_target import lander_lock
from fleet.landing.settle_landing import LandingSettler, Unlandable
from fleet.landing.train_state import FoldProver, TrainEnd
from fleet.landing.waiting_work import WaitingWork, work_of_run
from fleet.schemas import Task
from fleet.schemas.shown_text import one_line
from fleet.schemas.waits import TakenBack

_LIMIT = 300.0
#: Seconds to wait for another lander of the repository, and between two looks.
_PATIENCE, _PAUSE = 60.0, 0.2


class RevertedWork(Struct, frozen=True, kw_only=True):
    """What a landing was taken back with."""

    task_id: str
    into: str
    commit: str
    #: Why the branch does not stand there yet; empty if the branch does.
    behind: str = ""

    @property
    def words(self) -> str:
        """What the person is told."""
        follows = f"; {self.into} follows later: {one_line(self.behind)}" if self.behind else ""
        return f"{self.task_id}: taken off {self.into}, as {self.commit[:7]}{follows}."


class _RevertSettler(LandingSettler):
    """Hears what became of the commit that takes work back; the task's own record is left."""

    #: The commit of the line that takes the work back; empty: there is none.
    commit: str = ""
    problem: str = ""

    def test(self, work: WaitingWork) -> bool:
        del work
        return True

    def wait_again(self, task_id: str, why: str = "") -> bool:
        del task_id, why
        return False

    def ask(self, work: WaitingWork, why: str) -> None:
        del work
        self.problem = why

    def ask_about_line(self, work: WaitingWork, why: str, line: str) -> None:
        del work, line
        self.problem = why

    def send_back(
        self,
        work: WaitingWork,
        sent: Unlandable,
        *,
        counted: bool = True,
        note: Callable[[], None] | None = None,
    ) -> bool:
        del work, counted, note
        self.problem = f"{sent.words}\n{sent.output}".strip()
        return False

    def landed(self, work: WaitingWork, landed: LandedAs, behind: str = "") -> None:
        del work, behind
        self.commit = landed.commit


def revert(fleet: Control, task: Task) -> RevertedWork:
    """Take what a task landed off the branch. Raises Refused, and then nothing has changed."""
    refuse_agents(fleet.env, "take back what landed")
    landing = landing_json.believed(fleet.home, task.id)
    if landing is None or landing.landed is None or landing.state != "landed":
        raise Refused(f"nothing of {task.id} has landed", hint=f"See: fleet show {task.id}")
    if landing.landed.reverted:
        raise Refused(
            f"{task.id} was taken back already, as {landing.landed.reverted[:12]}",
            hint=f"To have it done anew: fleet retry --fresh {task.id}",
        )
    if task.status != "closed":
        raise Refused(
            f"{task.id} is {task.status}: it was opened again since it landed",
            hint=f"See: fleet show {task.id}",
        )
    if landing.landed.pr:
        raise Refused(
            f"{task.id} landed by its pull request, {landing.landed.pr}: the branch of the remote"
            " would stay as it is",
            hint="Revert it there: the forge opens a pull request that takes it back.",
        )
    if landing.how == "rebase" and len(landing.landed.parents) == 1:
        raise Refused(
            f"{task.id} landed commit by commit, as an earlier fleet did it",
            hint=f"Its commits: git -C {landing.repository} log --grep='{TRAILER}: {task.id}'."
            " Take them back by hand: git revert COMMIT…",
        )
    repo = repository.find(landing.repository)
    if repo is None:
        raise Refused(
            f"{landing.repository} is no git repository any more",
            hint="Put it back where it was, and try again.",
        )
    settler = _RevertSettler(fleet.home, fleet.queue, by=fleet.by, now=_now)
    end = _moved(fleet, repo, task, landing, settler)
    if not settler.commit and not settler.problem:  # nothing was found out about the work
        raise Refused(
            f"{landing.into} stays as it is: {end.left or 'its train was left'}",
            hint=f"Give the same command again: fleet land --revert {task.id}",
        )
    if not settler.commit:
        raise Refused(
            f"{landing.into} stays as it is: without the work of {task.id} it does not pass:"
            f" {settler.problem}",
            hint=f"Take it back by hand: {_by_hand(repo, landing)}",
        )
    _noted(fleet, task, landing, settler.commit, fleet.by)
    return RevertedWork(
        task_id=task.id,
        into=landing.into,
        commit=settler.commit,
        behind=end.behind,
    )


def _moved(
    fleet: Control, repo: Repository, task: Task, landing: Landing, settler: _RevertSettler
) -> TrainEnd:
    """Fold, verify and move, after what a killed lander left was completed."""
    until = time.monotonic() + _PATIENCE
    while True:
        with lander_lock(repo, landing.into) as held:
            if held:
                finish_followed(fleet.home, repo)
                complete_train(fleet, repo, landing, settler.by)
                return _reverted(fleet, repo, task, landing, settler)
        if time.monotonic() >= until:
            raise Refused(
                f"another lander is at work on {repo.root}", hint="Try again in a moment."
            )
        time.sleep(_PAUSE)


def _reverted(
    fleet: Control, repo: Repository, task: Task, landing: Landing, settler: _RevertSettler
) -> TrainEnd:
    work = _candidate(fleet, repo, task, landing)
    if isinstance(work, str):
        settler.commit = work
        return follow(FoldProver(fleet.home, repo, landing.into, threading.Event()))
    return train_of(fleet, repo, landing.into, settler).run([work])


def _candidate(fleet: Control, repo: Repository, task: Task, landing: Landing) -> WaitingWork | str:
    """The commit on the line without the work, as a candidate like any other; or the commit of an
    earlier revert that was killed before the record was written.
    """
    assert landing.landed is not None
    land = LandRepository(fleet.home.path, repo, time.monotonic() + _LIMIT)
    git, commit = land.git, landing.landed.commit
    line = read_target(land, landing.into).line
    if not line or not is_ancestor(git, commit, line):
        raise Refused(
            f"{landing.into} does not hold {commit[:12]}, which {task.id} landed as",
            hint=f"The branch was rewritten since. What it holds: git log {landing.into}",
        )
    now, with_it = read_commit(git, line).tree, read_commit(git, commit).tree
    before = read_commit(git, landing.landed.parents[0]).tree
    tree = merge_over(git, with_it, now, before)
    if isinstance(tree, TreeConflict):
        files = ", ".join(tree.files)
        raise Refused(
            f"what landed since builds on the work of {task.id}, in {files}",
            hint=f"Take it back by hand: {_by_hand(repo, landing)}",
        )
    if tree == now:
        words = f"--grep={_takes_back(commit)}"
        ask = ("log", "--first-parent", "--max-count=1", "--format=%H", "--fixed-strings", words)
        if found := git.line(*ask, f"{commit}..{line}", "--"):
            return found
        raise Refused(f"{landing.into} has nothing of {task.id} any more: there is nothing to do")
    words = f'Revert "{landing.title}"\n\n{_takes_back(commit)}\n\n{TRAILER}: {task.id}\n'
    made = write_commit(git, tree, line, message=words, author=author_in(repo))
    candidate = structs.replace(
        landing, state="waiting", commit=made, merged=line, tree=tree, checks=(), checked=False,
        how="squash",
    )  # fmt: skip
    found = work_of_run(fleet.home, task, candidate, fleet.config)
    if found is None:
        raise FleetError(f"the record of the run that {task.id} landed with is gone")
    return structs.replace(found, plan=_projects_checks(fleet, found.plan), message=words)


def _takes_back(commit: str) -> str:
    return f"This takes back {commit}."


def _projects_checks(fleet: Control, plan: CheckPlan) -> CheckPlan:
    """The same plan without the task's own checks, which ask for what is taken back."""
    project = fleet.config.project(plan.project)
    commands = project.land_verify or project.verify
    land = structs.replace(plan.policy.land, verify=commands)
    return structs.replace(plan, policy=structs.replace(plan.policy, verify=commands, land=land))


def _by_hand(repo: Repository, landing: Landing) -> str:
    """The git command that takes the work back."""
    assert landing.landed is not None
    many = "-m 1 " if len(landing.landed.parents) > 1 else ""
    return f"git -C {repo.root} revert {many}{landing.landed.commit[:12]}"


def _noted(fleet: Control, task: Task, landing: Landing, commit: str, by: str) -> None:
    """The record says what became of the landing, and the task waits for a person."""

    def reverted(now: Landing) -> Landing | None:
        if now.landed is None:
            return None
        return structs.replace(now, landed=structs.replace(now.landed, reverted=commit))

    landing_json.change(fleet.home, task.id, reverted)
    waits = TakenBack(into=landing.into, commit=commit, by=by)
    fleet.queue.reopen_task(task, by=by, waits=waits)


def _now() -> datetime:
    return datetime.now(UTC)
