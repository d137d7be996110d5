"""Files that a task which was sent back has reserved until the agent is done.

The agent merges the line as it stands. What others land in the same files meanwhile would send the
task back once more, and of many tasks that change one file the last would be sent back as often as
there are others. So candidates that change such a file wait their turn: each is sent back once, and
the next one begins with what this one landed.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property

from fleet.git.git_command import Git
from fleet.git.land.target import read_target
from fleet.git.repository import GitFailed
from fleet.home import landing_json
from fleet.home.landing_json import Landing
from fleet.landing.fold.fold_group import changed_files
from fleet.landing.train_state import TrainState
from fleet.schemas import Task

#: The longest that others wait for an agent, which may itself wait for a limit or a person.
_LONGEST = timedelta(hours=1)


class ReservedFiles:
    """The files in conflict of the tasks of one branch that are with their agents."""

    def __init__(self, at: TrainState) -> None:
        self._at = at
        self._by_task: dict[str, frozenset[str]] = {}
        #: A candidate was found that has to wait.
        self.delays = False

    def read(self, tasks: Sequence[Task], now: datetime) -> "ReservedFiles":
        """Take over what tasks that were sent back have reserved."""
        for task in tasks:
            landing = landing_json.believed(self._at.home, task.id)
            if landing is None or landing.state != "back" or landing.why_back != "conflict":
                continue
            if task.status in ("open", "in_progress") and now - landing.at <= _LONGEST:
                self.reserve(task.id, landing.conflict)
        return self

    def reserve(self, task_id: str, files: Iterable[str]) -> None:
        self._by_task[task_id] = frozenset(files)

    def holder(self, files: Iterable[str]) -> str:
        """The task that has one of these files reserved; empty: none has."""
        wanted = frozenset(files)
        found = next((each for each, theirs in self._by_task.items() if theirs & wanted), "")
        self.delays = self.delays or bool(found)
        return found

    def holder_for(self, landing: Landing) -> str:
        """The task that a candidate has to wait for; empty: none. What a person approved waits for
        no other, what a killed lander was testing is folded already, and a pull request conflicts
        at its forge. Raises FleetError.
        """
        is_asked = landing.state == "waiting" and landing.to != "pr" and not landing.approved_by
        if not self._by_task or not is_asked:
            return ""
        git, line = self._line
        try:
            return self.holder(changed_files(git, "--merge-base", line, landing.commit))
        except GitFailed:
            return ""  # no branch, or no history in common: folding it says so

    @cached_property
    def _line(self) -> tuple[Git, str]:
        """Where the branch stands: asked once, and only if something is reserved."""
        land = self._at.land()
        return land.git, read_target(land, self._at.branch).line
