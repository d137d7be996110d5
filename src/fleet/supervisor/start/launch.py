"""From a lease to a living run: place, coder, prompt, environment, keeper."""

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct, structs

from fleet import coders
from fleet.accounts.candidates import Place
from fleet.accounts.candidates import find as find_account
from fleet.accounts.choose_account import Seat
from fleet.coders.agent_environment import run_env
from fleet.coders.base import Coder, Options, ToolServer
from fleet.config import Config
from fleet.errors import FleetError
from fleet.evidence.claim_rules import UNCHANGED
from fleet.files.agent_place import AgentPlace
from fleet.files.atomic_write import write_atomically
from fleet.files.machine_short import is_short
from fleet.files.put_aside import put_aside
from fleet.files.safe_read import check_directory
from fleet.home import HOOK, Home, clone_record, landing_json, messages
from fleet.home.context_windows import known_window
from fleet.home.task_policy import passed_variables
from fleet.processes.keeper_client import Busy, hold_until, start_keeper
from fleet.runs.artifacts_digest import EMPTY, fingerprint
from fleet.runs.cli_state.state_directory import followed_env
from fleet.runs.outcome_history import Ending, last_to_speak
from fleet.runs.questions import questions_file
from fleet.runs.run_directory import (
    Run,
    RunSpec,
    reserve_run,
    write_run,
)
from fleet.runs.run_id import RunId
from fleet.schemas import Finished, Lease, NeedsHuman, Task, Usage
from fleet.settlement import resume_policy
from fleet.settlement.run_record import own_env
from fleet.settlement.session_files import (
    SessionFiles,
    drop_state,
    find_session,
    kept_sessions,
)
from fleet.spool.agent_mcp.tool_server import ASK_SLACK
from fleet.supervisor.assignments import ActiveRun, Assignment, Ready, RunStart
from fleet.supervisor.start.agent_bin import KEEPER, TOOL_SERVER
from fleet.supervisor.start.own_state import OwnState, own_state
from fleet.supervisor.start.run_box import RunCommand, box_run
from fleet.supervisor.start.workspace import Workspace
from fleet.supervisor.state import SupervisorState

#: The keeper enforces the time limit this many seconds after the supervisor would, in case that
#: there is no supervisor: a supervisor also records which tools it cut off.
KEEPERS_SLACK = 2.0


def make_ready(
    state: SupervisorState,
    lease: Lease,
    place: Place,
    seat: Seat,
) -> Ready:
    """Put together what a task runs with, on this seat. Touches nothing. Raises FleetError."""
    home, policy = state.home, place.ruled.policy
    before, last = last_to_speak(home.task(lease.task.id)) or (None, None)
    task = structs.replace(lease.task, cwd=place.cwd, coder=seat.coder, model=seat.model)
    boxed = policy.sandbox.level != "off"
    deliveries = messages.read(home.task(task.id))
    reviewed = any(each.run is None and each.message.review for each in deliveries)
    was_asked = last is not None and last.broke == UNCHANGED
    # A review is not answered with nothing, and neither is the question why nothing had to change.
    if (reviewed or was_asked) and policy.expect == "any":
        policy = structs.replace(policy, expect="change")
    back = _is_back(home, task.id)
    answer = _answer(home.task(task.id), last)
    coder = coders.make(seat.coder, seat.model, home=home.path)
    given = state.accounts.variables(seat.account)
    passes = passed_variables(state.config, place.cwd)
    session = resume_policy.session_to_carry_on(
        last, coder, goes_on=reviewed or back, answered=bool(answer)
    )
    if session and before is not None and (before.host or _begins_anew(home, before)):
        session = None  # it is on the host that made the run, or knows a clone that is gone
    files = None
    if session and last is not None and before is not None:
        env = run_env(own_env(), home, coder, task, given, passes)
        found = _session(state, coder, last, before, seat, env, boxed=boxed)
        session, files = (session, found.files) if found is not None else (None, None)
    number = before.number if session and before is not None else None
    resumed = last if session else None
    return Ready(
        task=task,
        coder=coder,
        account=seat.account,
        last_ending=resume_policy.last_ending_words(
            last, answer, reviewed=reviewed, sent_back=back
        ),
        prompt_messages=messages.for_prompt(deliveries, resumed=number),
        resume=session,
        cut_off=_cut_off(resumed),
        session=files,
        given=given,
        passes=passes,
        outline=state.accounts.outline(seat.account),
        policy=policy,
        project=place.cwd if place.origin is not None else "",
        before=resumed.session_usage if resumed else Usage(),
        messages=tuple(each.number for each in deliveries if each.run is None),
        at=state.now(),
    )


def _begins_anew(home: Home, last: Run) -> bool:
    """The clone of the last run was forgotten, and with the clone what the session knows."""
    spec, clone = last.known_spec(), home.clone(last.task_id).resolve()
    was_cloned = spec is not None and Path(spec.cwd).is_relative_to(clone)
    return was_cloned and clone_record.read(home, last.task_id) is None


def _cut_off(resumed: Ending | None) -> tuple[str, ...] | None:
    """The calls that were open when the session was cut off; None: the run was not cut off."""
    if resumed is None:
        return ()
    by_itself = isinstance(resumed.outcome, Finished | NeedsHuman) and not resumed.cut_off
    return None if by_itself else resumed.cut_off


def _answer(task_dir: Path, last: Ending | None) -> str:
    """A person's answer to the question that the last run ended with."""
    if last is None or not isinstance(last.outcome, NeedsHuman):
        return ""
    return questions_file.last_answer(questions_file.read(task_dir))


def _is_back(home: Home, task_id: str) -> bool:
    """The task's work could not land, and was sent back to the agent."""
    landing = landing_json.believed(home, task_id)
    return landing is not None and landing.is_back


def moved(ready: Ready, workspace: Workspace) -> Ready:
    """What a run needs, in the directory that was prepared."""
    words = f"{workspace.sent_back}\n\n{ready.last_ending}".strip()
    task = structs.replace(ready.task, cwd=workspace.cwd)
    return structs.replace(ready, task=task, last_ending=words, base=workspace.base)


class _Carried(Struct, frozen=True):
    """A session that can go on. None: its files are where the CLI looks for them."""

    files: SessionFiles | None = None


def _session(
    state: SupervisorState,
    coder: Coder,
    last: Ending,
    before: Run,
    seat: Seat,
    env: Mapping[str, str],
    *,
    boxed: bool,
) -> _Carried | None:
    """What has to be copied for the session of the run `before` to go on in this environment.

    None: the session cannot go on there.
    """
    has_own, spec = boxed and bool(coder.state_place(env)), before.known_spec()
    if spec is not None and spec.boxed:
        kept = find_session(kept_sessions(before.task_dir, coder), coder, last.session_id)
        if kept is not None:
            return _Carried(kept)
    theirs = _state_of_last(state, coder, last, seat, env)
    place = coder.state_place(theirs) if theirs is not None else ""
    if not has_own and place == coder.state_place(env):
        return _Carried()
    found = find_session(AgentPlace(place), coder, last.session_id) if place else None
    return _Carried(found) if found is not None else None


def _state_of_last(
    state: SupervisorState, coder: Coder, last: Ending, seat: Seat, env: Mapping[str, str]
) -> Mapping[str, str] | None:
    """The environment that leads to the CLI's state as the last run had it outside of a box; None:
    the account of that run is gone, and with it the way to its files.
    """
    if last.account in ("", seat.account.name):
        return env
    try:
        account = find_account(last.account, seat.coder, state.config)
        login = state.accounts.outline(account)
    except FleetError:
        return None
    theirs = {**env, **dict.fromkeys(coder.credentials, ""), **login}
    if account.is_own and coder.state_variable:
        theirs[coder.state_variable] = own_env().get(coder.state_variable, "")
    return theirs


def launch(
    state: SupervisorState, assignment: Assignment, ready: Ready, programs: Path
) -> ActiveRun | None:
    """Prepare the run's directory and start the keeper. A full disk is an OSError.

    None: the session that was to be carried on went before it could be copied. A run without a
    keeper is over as it begins.
    """
    task, coder, lease = ready.task, ready.coder, assignment.lease
    task_dir = state.home.task(task.id)
    artifacts = task_dir / "artifacts"
    is_first = not check_directory(artifacts)
    if is_first:
        task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        artifacts.mkdir(mode=0o700)
    run = reserve_run(task_dir, at_least=lease.task.runs)
    run.spool.mkdir(mode=0o700)
    coder.options = _options(state.config, ready, run, programs)
    given_env = run_env(own_env(), state.home, coder, task, ready.given, ready.passes)
    argv, prompt = _words(coder, task, task_dir, given_env)
    run_id, boxed = str(RunId.of(lease)), ready.policy.sandbox.level != "off"
    with ExitStack() as undo:
        undo.callback(drop_state, run)
        own = own_state(run, coder, given_env, str(task.cwd)) if boxed else None
        if not _put_session(ready, given_env, own):
            return None
        start = RunStart(lease=lease, ready=ready, env=given_env)
        state.observers.starting(start)
        env = {**start.env, **(own.env if own is not None else {})}
        env |= {"FLEET_RUN_DIR": str(run.path), "FLEET_SPOOL": str(run.spool)}
        command = RunCommand(argv=argv, cwd=str(task.cwd), env=env)
        if boxed:
            command = box_run(
                command, home=state.home, config=state.config, run=run, coder=coder,
                policy=ready.policy, programs=programs, own=own,
            )  # fmt: skip
        env = followed_env(run, coder.state_variable, env)
        spec = RunSpec(
            id=run_id,
            argv=command.argv,
            cwd=command.cwd,
            boxed=boxed,
            stdin="prompt.md" if coder.prompt_on_stdin else None,
            grace=float(state.config.grace_s),
            time_limit=ready.policy.limits.time + KEEPERS_SLACK,
            leased=_hold(state, assignment, run),
            coder=str(task.coder),
            model=coder.model,
            account=ready.account.name,
            login=dict(ready.outline),
            artifacts=EMPTY if is_first else fingerprint(artifacts),
            context_window=known_window(state.home, coder.name, coder.model),
            resumes=ready.resume or "",
            before=ready.before,
            # Of the session as it was put there: what is in it was read before.
            second_from=_second_size(coder, env),
            policy=ready.policy,
            base=ready.base,
            project=ready.project,
            host=state.heartbeat.name,
            trace=start.trace,
        )
        write_run(run, spec, prompt)
        undo.pop_all()
    messages.give(task_dir, ready.messages, run.number)
    _point_to(task_dir / "log.stderr", run)
    active = ActiveRun(lease.task, run, coder, env=env, spec=spec)
    active.memory.login = own.login if own is not None else None
    try:
        moves = state.home.moves_lock if boxed else None
        keeper = start_keeper(run, command.env, programs / KEEPER, mark=run_id, moves=moves)
    except FleetError as error:  # the machine lacks memory or processes
        active.start_trouble = error.message
        state.backoff.begin(error.message)
        return active
    if isinstance(keeper, Busy):
        active.start_trouble = "what is left of an earlier run withstands killing"
    else:
        active.keeper = keeper
    return active


def _options(config: Config, ready: Ready, run: Run, programs: Path) -> Options:
    """All that the coder of a run is told about it."""
    policy, coder, server = ready.policy, ready.coder, None
    if coder.takes_tools and policy.ask_wait is not None:
        server = ToolServer(
            argv=(sys.executable, "-I", "-S", str(programs / TOOL_SERVER), str(run.spool)),
            timeout=round(policy.ask_wait + ASK_SLACK),
        )
    return Options(
        permissions="bypass" if policy.sandbox.level != "off" else config.permissions,
        resume=ready.resume,
        last_ending=ready.last_ending,
        cut_off=ready.cut_off,
        messages=ready.prompt_messages,
        hook=str(programs / HOOK),
        refuse=policy.tripwire == "refuse",
        context=policy.context,
        needs=policy.needs,
        verify=policy.verify,
        spool=str(run.spool),
        tool_server=server,
        otlp=config.otel.base if config.otel.passes_on(coder.name) else "",
        max_cost=policy.limits.cost,
    )


def _put_session(ready: Ready, env: Mapping[str, str], own: OwnState | None) -> bool:
    """Put the files of the session that is carried on where the CLI looks for them. False: they
    are gone.
    """
    if ready.session is None:
        return True
    target = own.directory if own is not None else ready.coder.state_place(env)
    try:
        ready.session.copy_to(AgentPlace(target))
    except FileNotFoundError:
        return False
    return True


def _hold(state: SupervisorState, assignment: Assignment, run: Run) -> bool:
    """Have the keeper know how long the lease lasts, on a queue of several hosts."""
    terms, until = state.queue.terms, assignment.held_until
    if not terms.shared or until is None:
        return False
    hold_until(run, until - terms.keeper_stop_before(state.config.grace_s))
    return True


def _words(
    coder: Coder, task: Task, task_dir: Path, env: Mapping[str, str]
) -> tuple[tuple[str, ...], bytes]:
    """The argv and the prompt. Raises FleetError."""
    with _blamed_on(coder):
        coder.leave_out = coder.left_out(env, str(task.cwd))
        prompt = coder.prompt(task, task_dir).encode(errors="replace")
        file = None if coder.prompt_on_stdin else coder.prompt_file(task_dir)
    if file is not None:
        write_atomically(file, prompt, durable=False)
    with _blamed_on(coder):
        return tuple(map(str, coder.build_argv(task, task_dir))), prompt


@contextmanager
def _blamed_on(coder: Coder) -> Generator[None]:
    """Make an error of the coder's own code a FleetError that names the coder."""
    try:
        yield
    except Exception as error:  # a coder may be foreign code
        if isinstance(error, OSError) and is_short(error):
            raise
        why = f"coder {coder.name} failed: {type(error).__name__}: {error}"
        raise FleetError(why) from error


def _second_size(coder: Coder, env: Mapping[str, str]) -> int:
    """The length of the record of a resumed session, whose lines so far belong to earlier runs."""
    place = coder.second_stream(coder.options.resume, env) if coder.options.resume else None
    found = AgentPlace(place[0]).files(place[1]) if place else []
    return found[0].size() if found else 0


def _point_to(link: Path, run: Run) -> None:
    """Make `log.stderr` a link to the stderr of the latest run."""
    target = f"runs/{run.path.name}/stderr"
    try:
        link.symlink_to(target)
    except FileExistsError:
        if not link.is_symlink():
            put_aside(link)
        fresh = link.with_name(f".{link.name}.{os.urandom(6).hex()}")
        fresh.symlink_to(target)
        fresh.replace(link)
