"""Takes work from the lander that is to be changed: what an agent goes on with must not land."""

import threading
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import structs

from fleet.control import Control
from fleet.errors import FleetError, Refused
from fleet.git import repository
from fleet.git.repository import Repository
from fleet.home import landing_json
from fleet.home.landing_json import Landing
from fleet.landing.land_target import lander_lock
from fleet.landing.run_train import TrainRun
from fleet.landing.settle_landing import LandingSettler
from fleet.landing.train_state import TrainState
from fleet.landing.waiting_work import survey, target_key, tasks_of


def withdraw(fleet: Control, task_id: str, *, afresh: bool = False) -> None:
    """Keep work from landing unchanged, and count tries anew. Raises Refused if the work lands now.

    What was in the work's way stays on record, so that its agent is told; `afresh`: the record is
    forgotten.
    """
    landing = landing_json.read(fleet.home, task_id)
    if landing is None or landing.state == "landed" or (landing.state == "back" and not afresh):
        return
    if landing_json.doubt(fleet.home, task_id):
        return  # what is not as fleet wrote it does not land
    landing = leave_train(fleet, task_id, landing)
    refuse_ahead(task_id, landing)
    if landing.state == "landed":
        raise Refused(
            f"{task_id} has {landing.words()}: its lander was killed before it could say so",
            hint=f"To take it back: fleet land --revert {task_id}",
        )

    def back(now: Landing) -> Landing | None:
        if now.state in ("testing", "ahead", "landed"):
            return None
        kept = now.why_back if now.state == "asks" and not afresh else None
        return structs.replace(
            now,
            state="back",
            why=now.why if kept else "",  # how to land what does not land now misleads
            why_back=kept or (None if afresh else "review"),
            merge=None,
            tries=0,
            refusals=0,
            approved_by="",
            at=_now(),
        )

    if landing_json.change(fleet.home, task_id, back) is None:
        raise Refused(
            f"{task_id} is landing on {landing.into} right now",
            hint="Give the same command again in a moment: fleet land says how far it is.",
        )


def refuse_ahead(task_id: str, landing: Landing) -> None:
    """Raise Refused for work that is merged on the line, and that only a checkout keeps from its
    branch: what landed since was verified with it.
    """
    if landing.state == "ahead":
        raise Refused(
            f"{task_id} is to land, and its work is merged already: {landing.why}",
            hint=f"To take it back once it has landed: fleet land --revert {task_id}",
        )


def leave_train(fleet: Control, task_id: str, landing: Landing) -> Landing:
    """How work stands, after the train of a killed lander was completed: what that train had landed
    is landed, the rest waits again. Nothing is done while a lander is at work, or if the remote
    that was pushed to cannot be asked.
    """
    repo = repository.find(landing.repository) if landing.state == "testing" else None
    if repo is None:
        return landing
    by = fleet.by
    with suppress(FleetError, OSError), lander_lock(repo, landing.into) as held:
        for each in complete_train(fleet, repo, landing, by) if held else ():
            LandingSettler(fleet.home, fleet.queue, by=by, now=_now).wait_again(each)
    return landing_json.believed(fleet.home, task_id) or landing


def complete_train(fleet: Control, repo: Repository, landing: Landing, by: str) -> tuple[str, ...]:
    """Complete the train of a killed lander, under the lander's lock: work that the line holds
    already has landed, and must not land twice. Returns the tasks of the branch. Raises FleetError
    and OSError.
    """
    ids = survey(fleet.home).work.get(target_key(landing.repository, landing.into), ())
    settler = LandingSettler(fleet.home, fleet.queue, by=by, now=_now)
    train_of(fleet, repo, landing.into, settler).recover(tasks_of(fleet.queue, ids))
    return ids


def train_of(fleet: Control, repo: Repository, branch: str, settler: LandingSettler) -> TrainRun:
    """A train that this command runs itself, under the lander's lock."""
    at = TrainState(fleet.home, repo, branch, settler, abandon=threading.Event(), now=_now)
    return TrainRun(at)


def _now() -> datetime:
    return datetime.now(UTC)
