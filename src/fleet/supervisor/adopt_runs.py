"""Runs that an earlier supervisor started, or that this one lost sight of: adopted if they live,
finished if they are over, and looked at again as long as that is not known. Their tasks stay leased
meanwhile. A run whose task this home does not hold any more is stopped.
"""

import time
from functools import partial

from fleet.accounts.candidates import find as find_account
from fleet.coders.agent_environment import secret_values
from fleet.errors import FleetError
from fleet.extend import Duty
from fleet.home import Home
from fleet.processes import keeper_client, process_identity
from fleet.processes.keeper_client import Orphaned, Running, find_keeper, kill_trees, stop_run
from fleet.runs import stop_reason
from fleet.runs.outcome_history import believed_ending, read_ending
from fleet.runs.run_directory import Run, check_task_directory, latest_run
from fleet.runs.run_id import RunId
from fleet.schemas import Lease, Lost, Stopped, Task
from fleet.schemas.decision import LEASE_LOST, OURS, released
from fleet.supervisor.active.follow_runs import RECHECKS, RunFollower, finishing, state_now
from fleet.supervisor.assignments import (
    Active,
    ActiveRun,
    Assignment,
    Assignments,
    Stopping,
    Unknown,
    lease_of,
)
from fleet.supervisor.finish_run import contained, kill_all, send_and_settle, settle
from fleet.supervisor.queue_io.keep_leases import held_tasks
from fleet.supervisor.state import Happening, QueueReplaced, Recovered, SupervisorState
from fleet.supervisor.stop_runs import stop_assignment


class RunAdopter(Duty):
    """Adopts the runs that live at the start, and re-checks those in stage `Unknown`."""

    def __init__(self, state: SupervisorState, follower: RunFollower) -> None:
        self._state, self._follower = state, follower

    @property
    def next_moment(self) -> float:
        return next_look(self._state.assignments)

    def start(self) -> None:
        def adopt(tasks: list[Task]) -> None:
            stop_orphans(self._state, {task.id for task in tasks})
            adopt_tasks(self._state, tasks)
            self._state.events.append(Recovered())

        held_tasks(self._state.queue, adopt)

    def when_due(self) -> None:
        recheck_unknown_runs(self._state, self._follower)

    def on_event(self, event: Happening) -> None:
        if isinstance(event, QueueReplaced):  # what was settled since is settled again
            held_tasks(self._state.queue, partial(adopt_tasks, self._state))


def next_look(assignments: Assignments) -> float:
    """When a run is to be looked at again, on the monotonic clock."""
    stages = (each.stage for each in assignments)
    return min((s.due for s in stages if isinstance(s, Unknown)), default=float("inf"))


def adopt_tasks(state: SupervisorState, tasks: list[Task]) -> None:
    """Go on with tasks that the queue says this home holds, and that are not in hand."""
    for task in tasks:
        if state.assignments.get(task.id) is None:
            adopt_task(state, lease_of(task))


def adopt_task(state: SupervisorState, lease: Lease) -> None:
    """Go on with a task that an earlier supervisor held at the end."""
    assignment = state.assignments.take(lease)
    with contained(state, assignment, lambda why: settle(state, assignment, released(why))):
        task_dir = state.home.task(lease.task.id)
        check_task_directory(task_dir)
        run = latest_run(task_dir)
        ending = believed_ending(run) if run is not None else None
        if run is None:
            kill_all(lease)  # the directory may have been deleted under a living run
        if run is None or (ending is not None and ending.fence != lease.fence):
            settle(state, assignment, released("claimed, and never started"), task_dir)
        elif ending is not None:
            send_and_settle(state, assignment, ending, run)
        else:
            adopt_run(assignment, run)


def adopt_run(assignment: Assignment, run: Run) -> None:
    """Have a run looked at that was begun and has no ending."""
    assignment.stage = Unknown(run, _account_of(run), RECHECKS.first)


def recheck_unknown_runs(state: SupervisorState, follower: RunFollower) -> None:
    """Re-check runs in stage `Unknown`; adopt or finish those whose processes were found."""
    now = time.monotonic()
    for assignment in state.assignments:
        stage = assignment.stage
        if isinstance(stage, Unknown) and now >= stage.due:
            wait = partial(_know_nothing, state, assignment, stage)
            with contained(state, assignment, wait):
                _look(state, follower, assignment, stage)


def _look(
    state: SupervisorState, follower: RunFollower, assignment: Assignment, stage: Unknown
) -> None:
    """Adopt the run if alive, finish the run if over, and else look again."""
    run, found = stage.run, state_now(stage.run)
    keeper = find_keeper(found.keeper) if isinstance(found, Running) and found.keeper else None
    if isinstance(found, Running | Orphaned) and keeper is None:
        _wait(state, assignment, stage, found)
        return
    active = ActiveRun.read(state.home, state.config, assignment.lease.task, run)
    active.keeper = keeper
    _learn_secrets(state, active)
    if not isinstance(found, Running | Orphaned):
        assignment.stage = ending = finishing(assignment, active, found)
        reason = ending.ended.stop_reason
        if isinstance(reason, Stopped) and reason.by in OURS and ending.ended.ended_by_itself:
            # The earlier supervisor left the run alone: this supervisor judges it.
            stop_reason.forget(run)
            assignment.stage = finishing(assignment, active, found)
        follower.attend(assignment)
        return
    reason = stop_reason.read(run)
    if reason is None:
        assignment.stage = Active(active)
    else:
        again = time.monotonic() + state.config.grace_s + 1.0
        assignment.stage = Stopping(active, reason, tell_again_at=again)
    follower.attend(assignment)
    text = f"{assignment.task_id}: adopted run {run.number}"
    state.log.say("adopted", text, task_dir=run.task_dir)
    if active.doubt:  # nothing is known of what it may do
        stop_assignment(assignment, Lost(why=active.doubt), now=True)
    elif reason is None and state.shutdown.reason is not None:
        stop_assignment(assignment, state.shutdown.reason)


def _know_nothing(
    state: SupervisorState, assignment: Assignment, stage: Unknown, _why: str
) -> None:
    """Check again later: on this machine nothing new could be found out."""
    _wait(state, assignment, stage, None)


def _wait(
    state: SupervisorState,
    assignment: Assignment,
    stage: Unknown,
    found: Running | Orphaned | None,
) -> None:
    """Look again later: the run has no keeper that could be asked, or is just starting."""
    run, pause = stage.run, stage.pause
    if pause < RECHECKS.longest <= pause * 2:
        pids = ", ".join(str(who.pid) for who in getattr(found, "survivors", ()))
        text = f"{assignment.task_id}: waits for what is left of run {run.number} {pids}"
        state.log.say("unclear", text.rstrip(), task_dir=run.task_dir)
    assignment.stage = Unknown(run, stage.account, RECHECKS.after(pause), time.monotonic() + pause)


def _learn_secrets(state: SupervisorState, active: ActiveRun) -> None:
    """Learn the login again that another supervisor gave to the agent, so as to mask the secret."""
    try:
        account = find_account(active.account, active.coder.name, state.config)
        active.mask.add(secret_values(active.coder, state.accounts.variables(account)))
    except FleetError:
        return  # the account is gone, or its secret cannot be had: there is nothing to compare


def _account_of(run: Run) -> str:
    spec = run.known_spec()
    return spec.account if spec else ""


def stop_orphans(state: SupervisorState, leased: set[str]) -> None:
    """Stop every run of this home whose task this home does not hold."""
    for mark in sorted(process_identity.bearers(f"{state.queue.owner}.")):
        run_id = RunId.parse(mark)
        if run_id is not None and run_id.task not in leased:
            text = f"{run_id.task}: stopped, it is not this supervisor's any more"
            state.log.say("stray", text)
            _stop(state.home, run_id)


def _stop(home: Home, run_id: RunId) -> None:
    try:
        run = latest_run(home.task(run_id.task))
        if run is not None and run.spec().id == str(run_id):
            if read_ending(run) is not None:
                stopped = keeper_client.stop(run)
            else:
                stopped = stop_run(run, Stopped(by=LEASE_LOST))
            if stopped:
                return
    except (FleetError, OSError):
        pass  # the run's directory is gone or damaged: its processes are found by their mark
    kill_trees(process_identity.marked(str(run_id)))
