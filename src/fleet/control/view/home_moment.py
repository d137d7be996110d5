"""What holds for the tasks of a whole home at one moment, as its gates ask for it."""

from datetime import datetime

from fleet.control import Control
from fleet.control.pause import paused_since
from fleet.extend import HomeMoment, SubjectFacts
from fleet.home import owner_file
from fleet.home.status_file import SupervisorStatus, read_status
from fleet.processes.supervisor_lock import Holder, supervisor_of


def supervision(fleet: Control) -> tuple[Holder | None, SupervisorStatus]:
    """The supervisor that runs, and what it published; nothing of one that ended."""
    holder = supervisor_of(fleet.home)
    return holder, read_status(fleet.home) if holder else SupervisorStatus()


def home_moment(
    fleet: Control,
    now: datetime,
    holder: Holder | None,
    published: SupervisorStatus,
    facts: tuple[SubjectFacts, ...] = (),
) -> HomeMoment:
    """The moment, with what subjects know of it."""
    return HomeMoment(
        now=now,
        supervised=holder is not None,
        paused=paused_since(fleet.home) is not None,
        queue_problem=published.queue_problem,
        shortage=published.shortage,
        runs=published.runs,
        slots=fleet.config.max_concurrent,
        owner=owner_file.read(fleet.home),
        facts=facts,
    )
