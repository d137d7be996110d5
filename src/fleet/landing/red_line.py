"""A line that fails the checks without any candidate: no agent is to blame.

The work waits for a person to mend the branch, here or on the remote that it is pushed to, and is
tried again as soon as that has moved.
"""

from collections.abc import Sequence

from fleet.git.commit_words import Author, author_in
from fleet.git.git_command import Git
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.target import Target, read_target
from fleet.git.refs import is_ancestor
from fleet.home import Home, landing_json
from fleet.landing import train_words
from fleet.landing.fold.fold_group import fold_group
from fleet.landing.remote.remote_line import remote_line
from fleet.landing.train_state import TrainState
from fleet.landing.train_store import Train
from fleet.landing.waiting_work import WaitingWork
from fleet.schemas import Task

#: Seconds until a line that failed by itself is looked at again.
LOOK_AGAIN = 20.0


def line_alone(git: Git, target: Target, author: Author) -> Train | None:
    """What a train would begin with, without any candidate; None: there is nothing such. Raises
    GitFailed.
    """
    made = fold_group(git, target, (), author) if target.tip else None
    return None if made is None or isinstance(made, TreeConflict) else made.train


class RedLines:
    """What a train finds of the line: works that fail as the line alone does."""

    def __init__(self, at: TrainState) -> None:
        self._at = at
        #: Tasks by the commit of the line and the command that fails.
        self._found: dict[tuple[str, str], list[str]] = {}

    def blames(
        self, land: LandRepository, target: Target, train: Train, work: WaitingWork
    ) -> bool | None:
        """Whether the line, and not this work alone, fails a check of the project; then a person is
        asked. None: the train was left.
        """
        at = self._at
        check = at.prover.learnt.failing(train.tree, train.checks)
        line = line_alone(land.git, target, author_in(at.repo))
        if line is None or check in work.plan.own:
            return False
        green = at.proved(at.prover.line_passes(land, line, work.plan, check), [work])
        if green is not False:
            return None if green is None else False
        command = at.prover.learnt.command(check, line.tree, train.tree)
        self._found.setdefault((line.new, command), []).append(work.task_id)
        why = train_words.line_fails(at.branch, command, line.new, work.task_id)
        at.settler.ask_about_line(work, why, line.new)
        return True

    def sentences(self) -> list[str]:
        """What a person is told, once for all that wait."""
        return [
            train_words.waits_for_line(self._at.branch, command, line, ids)
            for (line, command), ids in self._found.items()
        ]


def waiting_for_line(home: Home, tasks: Sequence[Task]) -> dict[str, str]:
    """The tasks whose work waits until the line alone passes, each with the commit that failed."""
    found = {task.id: landing_json.believed(home, task.id) for task in tasks}
    return {
        task_id: landing.red_line
        for task_id, landing in found.items()
        if landing is not None and landing.state == "asks" and landing.red_line
    }


def try_again(at: TrainState, tasks: Sequence[Task]) -> None:
    """Have what waits for a red line wait for the next train, if the line has moved since. Raises
    FleetError and OSError.
    """
    home, waiting = at.home, waiting_for_line(at.home, tasks)
    if not waiting:
        return
    land = at.land()
    line = line_alone(land.git, read_target(land, at.branch), author_in(at.repo))
    if line is None:
        return
    moved = [task_id for task_id, red in waiting.items() if line.new != red]
    for task_id in moved:
        at.settler.try_again(task_id, f"{at.branch} has moved: it is tried again")
    pushed = [task_id for task_id in waiting if _is_pushed(home, task_id) and task_id not in moved]
    if pushed and (remote := _ahead(home, land, line)):
        for task_id in pushed:
            at.settler.try_again(task_id, f"{remote} has moved: it is tried again")


def _is_pushed(home: Home, task_id: str) -> bool:
    landing = landing_json.believed(home, task_id)
    return landing is not None and landing.to == "push"


def _ahead(home: Home, land: LandRepository, line: Train) -> str:
    """The remote branch, if the line lacks some of its commits: a person may have mended the branch
    there, and the next train has the line follow. Empty: nothing new, or no answer.
    """
    remote = remote_line(home, land, line.branch)
    if isinstance(remote, str) or remote.read() is not None or not remote.commit:
        return ""
    return "" if is_ancestor(land.git, remote.commit, line.new) else remote.shown
