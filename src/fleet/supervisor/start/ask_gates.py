"""What the supervisor knows as it asks the gates: from memory, and of a task from its records.

What only the supervisor knows of an account it publishes (`AccountAssigner.published`), so that
surfaces find the same reason.
"""

from pathlib import Path

from msgspec import Struct, structs

from fleet import coders
from fleet.accounts.candidates import Place, place_of
from fleet.coders.trusted_files import StrangeCoders, Untrusted
from fleet.errors import BadInput, FleetError, NotHere
from fleet.extend import HomeMoment, SubjectFacts, TaskStart, gates, why_none, why_not
from fleet.home import base_wait, compare_json
from fleet.home.base_wait import BaseFacts
from fleet.home.compare_json import ComparisonFacts
from fleet.home.status_file import paused
from fleet.home.trusted_commands import StrangeCommands, untrusted
from fleet.runs.outcome_history import Ending, spent_before
from fleet.schemas import Task
from fleet.schemas.task_state import Wait
from fleet.spending.budget_gates import DayBudgets, TaskSpend
from fleet.supervisor.state import SupervisorState


class GateAnswer(Struct, frozen=True, kw_only=True):
    """A task that the gates were asked about."""

    #: Why it may not start here now; None: it may.
    wait: Wait | None
    place: Place
    start: TaskStart
    at: HomeMoment


def moment_of(state: SupervisorState) -> HomeMoment:
    """What holds for all tasks now. The claim counts slots by itself."""
    return HomeMoment(
        now=state.now(),
        paused=paused(state.home),
        shortage=state.backoff.why if state.backoff.active else "",
        owner=state.queue.owner,
        facts=(DayBudgets(statuses=state.meter.statuses()), state.accounts.facts()),
    )


def holds_all(state: SupervisorState) -> Wait | None:
    """Why no task may start now."""
    return why_none(gates(), moment_of(state))


def ask(
    state: SupervisorState, task: Task, last: Ending | None, *, tried: bool = False
) -> GateAnswer | Wait:
    """Ask the gates about a task. A plain `Wait`: a coder of the task cannot be loaded
    before a person trusts the coder's file. `tried`: what was found of its base counts, which a
    start tries again. Raises FleetError.
    """
    at = moment_of(state)
    try:
        place = _placed(state, task)
        start = _task_start(state, task, place, last, at)
    except Untrusted as error:
        strange = StrangeCoders(names=frozenset((error.coder,)))
        start = TaskStart(task=task, coders=(error.coder,))
        at = structs.replace(at, facts=(strange, *at.facts))
        return why_not(gates(), start, at) or Wait(reason=error.message, person=True)
    if tried and (found := base_wait.waits(state.home, task.id)) is not None:
        known = (BaseFacts(wait=found), *start.facts)
        start = structs.replace(start, facts=known)
    return GateAnswer(wait=why_not(gates(), start, at), place=place, start=start, at=at)


def why_waits(state: SupervisorState, task: Task) -> Wait | None:
    """Why a task that was put off could not start now; None: no gate holds the task."""
    try:
        found = ask(state, structs.replace(task, not_before=None), None, tried=True)
    except (FleetError, OSError) as error:  # which its start finds, and a person is told then
        return Wait(gate="invalid", reason=str(error))
    return found if isinstance(found, Wait) else found.wait


def _placed(state: SupervisorState, task: Task) -> Place:
    """Where a task runs and what the task asks for. Raises FleetError."""
    place = place_of(state.home, state.config, task)
    try:
        coders.find(place.coder, state.home.path)
    except Untrusted:
        raise
    except BadInput as error:
        if not state.config.shares_queue:
            raise
        raise NotHere(error.message, hint=error.hint) from None
    if state.heartbeat.lacks(place.coder):
        raise NotHere(f"the program of coder {place.coder} is not on PATH")
    return place


def _task_start(
    state: SupervisorState, task: Task, place: Place, last: Ending | None, at: HomeMoment
) -> TaskStart:
    """The task with its seats."""
    policy = place.ruled.policy
    facts: list[SubjectFacts] = [state.accounts.seats(state.config, place, task.id, last, at.now)]
    if commands := untrusted(state.home, task):
        facts.append(StrangeCommands(commands=commands))
    if compare_json.is_open(state.home, task.id):
        facts.append(ComparisonFacts(is_open=True))
    if policy.budget:
        facts.append(TaskSpend(spent=spent_before(state.home.task(task.id))))
    return TaskStart(
        task=task,
        cwd=place.cwd,
        is_missing=place.origin is None and not Path(place.cwd).is_dir(),
        project=state.config.project(place.cwd).path,
        policy=policy,
        facts=tuple(facts),
    )
