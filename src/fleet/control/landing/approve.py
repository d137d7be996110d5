"""What a person says of work that waits to land: approved, held back, let go again.

A word is written into the landing's record before the lander is woken, and names the person.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from msgspec import structs

from fleet.control import Control, refuse_agents
from fleet.control.hosts.other_hosts import store_task_file
from fleet.control.landing.open_landings import landing_host
from fleet.control.landing.project_git import ProjectGit
from fleet.control.landing.waiting_list import land_rules_of
from fleet.control.landing.withdraw import leave_train, refuse_ahead
from fleet.errors import FleetError, Refused
from fleet.home import landing_json, owner_file
from fleet.home.clone_record import branch_of
from fleet.home.landing_json import Landing
from fleet.landing.bring_home import why_waiting_asks
from fleet.landing.waiting_work import work_of_run
from fleet.queue import doorbell
from fleet.queue.sql.travel.landers import tell_landers
from fleet.runs.run_directory import latest_run
from fleet.travel.landing_note import note_of

#: Seconds to read the branches of a project.
_LIMIT = 30.0


def approve(fleet: Control, task_ids: Sequence[str]) -> list[Landing]:
    """Approve work to land, and wake the lander. All can be approved, or none is."""
    refuse_agents(fleet.env, "approve work")
    by = fleet.by
    branches = {each: branch_to_land_on(fleet, each) for each in task_ids}

    def approved(into: str, landing: Landing) -> Landing:
        if landing.state == "ahead":
            return landing
        if landing.state == "testing":
            return structs.replace(landing, approved_by=by)
        return structs.replace(_let_go(landing), approved_by=by, why="", into=into)

    done = [_changed(fleet, each, partial(approved, branches[each])) for each in task_ids]
    ring(fleet)
    return done


def branch_to_land_on(fleet: Control, task_id: str, landing: Landing | None = None) -> str:
    """The branch that a task's work lands on once a person approves. Raises Refused if the work
    cannot land; `landing`: the record that the task is to have.
    """
    landing = landing or _record(fleet, task_id)
    _check_here(fleet, task_id, landing)
    _check_as_verified(fleet, task_id, landing)
    return _branch_for(fleet, task_id, landing)


def hold(fleet: Control, task_id: str) -> Landing:
    """Keep work from landing until a person releases the work."""
    refuse_agents(fleet.env, "hold work back")
    by, landing = fleet.by, _record(fleet, task_id)
    if landing.state == "held":
        raise Refused(f"{task_id} is held already", hint=f"To let it go: {_release(task_id)}")
    landing = leave_train(fleet, task_id, landing)
    refuse_ahead(task_id, landing)
    if landing.state == "testing":
        raise Refused(
            f"{task_id} is landing on {landing.into} right now",
            hint="Look again in a moment: fleet land. To take it back then: fleet land --revert"
            f" {task_id}",
        )
    _check_here(fleet, task_id, landing)
    return _changed(
        fleet,
        task_id,
        lambda now: (
            structs.replace(
                now, state="held", why=f"held by {by}; to let it go: {_release(task_id)}", at=_now()
            )
            if now.state in ("waiting", "asks")
            else None
        ),
    )


def release(fleet: Control, task_id: str) -> Landing:
    """Let work land again that was held back; where land = ask, a person is asked again."""
    refuse_agents(fleet.env, "release work")
    landing = _record(fleet, task_id)
    if landing.state != "held":
        raise Refused(f"{task_id} is not held: {landing.words()}", hint="See: fleet land")
    work = work_of_run(fleet.home, fleet.get(task_id), landing, fleet.config)
    # Work that is not brought home yet is asked about once it is.
    why = why_waiting_asks(work) if work is not None and landing.commit else ""

    def released(now: Landing) -> Landing | None:
        if now.state != "held":
            return None
        let_go = _let_go(now)
        return structs.replace(let_go, state="asks" if why else let_go.state, why=why)

    done = _changed(fleet, task_id, released)
    ring(fleet)
    return done


def ring(fleet: Control) -> None:
    """Wake a supervisor, whose lander looks at what waits."""
    doorbell.ring(fleet.home.path)
    if fleet.is_shared:  # where the supervisor hears the queue, and no bell of the home
        with suppress(FleetError):  # the supervisor looks again once the queue answers
            tell_landers(fleet.tracker)


def _record(fleet: Control, task_id: str) -> Landing:
    """The landing of a task, as fleet wrote it. Raises Refused."""
    doubt = landing_json.doubt(fleet.home, task_id)
    if doubt:
        raise Refused(
            f"the record of {task_id}'s landing is not as fleet wrote it: {doubt}",
            hint=f"Look at the work (fleet review {task_id}) and have it done again:"
            f" fleet retry {task_id}",
        )
    landing = landing_json.read(fleet.home, task_id)
    if landing is None and (host := landing_host(fleet, fleet.get(task_id))):
        raise _elsewhere(task_id, host)
    if landing is None:
        raise Refused(
            f"{task_id} has nothing that waits to land",
            hint=f"How it stands: fleet show {task_id}. What waits: fleet land",
        )
    return landing


def _branch_for(fleet: Control, task_id: str, landing: Landing) -> str:
    """The branch that work lands on: where that is gone, or there was none, the one that the
    settings name by now. Raises Refused if there is no such branch.
    """
    project = ProjectGit(fleet.home, landing.repository, time.monotonic() + _LIMIT)
    for branch in (landing.into, land_rules_of(fleet, task_id).into):
        if branch and project.line_of(branch):
            return branch
    why = (
        f"{landing.repository} has no branch {landing.into} any more"
        if landing.into
        else "its directory had none checked out"
    )
    ways = "Make it again, or name another one" if landing.into else "Name one"
    raise Refused(
        f"{task_id} has no branch to land on: {why}",
        hint=f"{ways}, and then the same again: fleet config set"
        f" --project {landing.repository} land_into=BRANCH",
    )


def _check_as_verified(fleet: Control, task_id: str, landing: Landing) -> None:
    """Refuse work that was done on since: the verified commit lands, or none."""
    run = latest_run(fleet.home.task(task_id))
    if run is None or run.number != landing.run:
        raise Refused(
            f"{task_id} {landing.words()}: it was worked on since it was verified",
            hint=f"To have its agent try again: fleet retry {task_id}. By hand: git -C"
            f" {landing.repository} merge {landing.commit[:12] or branch_of(task_id)}, and then:"
            f" fleet bd close {task_id}",
        )


def _check_here(fleet: Control, task_id: str, landing: Landing) -> None:
    if landing.state == "landed":
        revert, anew = f"fleet land --revert {task_id}", f"fleet retry --fresh {task_id}"
        is_gone = landing.landed is not None and landing.landed.reverted
        way = f"To have it done anew: {anew}" if is_gone else f"To take it off the branch: {revert}"
        raise Refused(f"{task_id} has {landing.words()} already", hint=way)
    if landing.host:
        raise _elsewhere(task_id, _host_name(fleet, landing.host))
    if landing.state == "back":
        raise Refused(
            f"{task_id} was {landing.words()}: its agent goes on with it",
            hint=f"How it stands: fleet show {task_id}",
        )


def _elsewhere(task_id: str, host: str) -> Refused:
    return Refused(
        f"another host lands the work of {task_id}: {host}", hint="Give the command on that host."
    )


def _host_name(fleet: Control, host_id: str) -> str:
    from fleet.queue.sql.hosts.host_table import names_of_hosts

    known = names_of_hosts(fleet.tracker) if fleet.is_shared else {}
    return known.get(host_id, host_id)


def _let_go(landing: Landing) -> Landing:
    """The landing without the hold."""
    if landing.state == "testing":
        return landing
    return structs.replace(landing, state="waiting", at=_now())


def _changed(fleet: Control, task_id: str, change: Callable[[Landing], Landing | None]) -> Landing:
    done = landing_json.change(fleet.home, task_id, change)
    if done is None:
        raise FleetError(
            f"{task_id} changed meanwhile", hint="See how it stands, and try again: fleet land"
        )
    if fleet.is_shared:  # for the host that may have to take the landing over
        with suppress(FleetError):
            store_task_file(fleet, fleet.get(task_id), landing_json.FILE)
            name = _host_name(fleet, owner_file.read(fleet.home) or "")
            fleet.queue.add_metadata(task_id, note_of(done, name))
    return done


def _release(task_id: str) -> str:
    return f"fleet land --release {task_id}"


def _now() -> datetime:
    return datetime.now(UTC)
