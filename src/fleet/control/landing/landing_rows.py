"""The rows of `fleet tasks` for work on the way to the branch."""

from collections.abc import Sequence

from msgspec import structs

from fleet.control import Control
from fleet.control.landing.open_landings import landing_words, open_landings
from fleet.control.tasks.in_progress import InProgress
from fleet.home.landing_json import LANDERS, Landing


def with_landings(fleet: Control, seen: Sequence[InProgress]) -> list[InProgress]:
    """These tasks, and behind them the tasks that the lander has; a task that was sent back says
    so while the agent is at work.
    """
    landings = open_landings(fleet)
    found = [_sent_back(fleet, each, landings.get(each.id)) for each in seen]
    busy = {each.id for each in seen}
    mine = [each for each, landing in landings.items() if landing.state in LANDERS]
    return found + [_row(each, landings[each]) for each in mine if each not in busy]


def _row(task_id: str, landing: Landing) -> InProgress:
    return InProgress(
        id=task_id,
        title=landing.title,
        doing="landing",
        reason=landing.words(),
        cwd=landing.repository,
        run=landing.run,
        started_at=landing.at,
    )


def _sent_back(fleet: Control, each: InProgress, landing: Landing | None) -> InProgress:
    if landing is None or landing.state != "back" or each.doing != "running":
        return each
    words = landing_words(fleet, each.id, landing)
    return structs.replace(each, reason=f"{words}; {each.reason}".removesuffix("; "))
