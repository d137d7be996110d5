"""From a lease to a living run: place, coder, prompt, environment, keeper."""

import errno
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from fleet import coders
from fleet.accounts.candidates import Place, place_of
from fleet.accounts.candidates import find as find_account
from fleet.accounts.choose_account import Seat
from fleet.accounts.credentials import AccountTrouble
from fleet.accounts.move_session import move, moving
from fleet.coders.base import Coder, Options
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import HOOK, Home, compare_json, messages
from fleet.processes.keeper_client import Busy, start_keeper
from fleet.runs.artifacts_digest import fingerprint
from fleet.runs.outcome_history import Ending
from fleet.runs.run_directory import Run, RunSpec, latest_run, new_run
from fleet.runs.run_id import RunId
from fleet.schemas import Account, Base, Lease, Policy, Task, Usage
from fleet.settlement import resume_policy
from fleet.settlement.run_record import own_env, run_env
from fleet.supervisor.active.active_run import ActiveRun
from fleet.supervisor.start.agent_bin import KEEPER
from fleet.supervisor.start.workspace import Workspace

#: Errors of a machine that is short of something, for which no task is to blame.
SHORT = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO}
)

#: The keeper enforces the time limit so many seconds after the supervisor would, for the case that
#: there is no supervisor: a supervisor also records which tools it cut off.
KEEPERS_SLACK = 2.0


#: The environment that logs an agent in to an account; may raise AccountTrouble.
Login = Callable[[Account], Mapping[str, str]]


class Unfit(Struct, frozen=True):
    """The task cannot run as it is; a person has to mend it."""

    why: str


class Short(Struct, frozen=True):
    """The machine lacks memory or processes for the run, which is over as it begins."""

    why: str
    run: ActiveRun


class SessionGone(Struct, frozen=True):
    """The session that was to be carried on went before it could be copied."""


class Ready(Struct, frozen=True, kw_only=True):
    """All that a run needs, before anything was started."""

    task: Task
    coder: Coder
    account: Account
    #: The files of the session that is carried on, and where they have to be for this account.
    session: tuple[tuple[Path, Path], ...] = ()
    env: Mapping[str, str]
    #: The part of `env` that logs the agent in, and the same with a mark for the secret.
    given: Mapping[str, str]
    outline: Mapping[str, str]
    policy: Policy
    #: The repository as the run finds it, once it was looked at.
    base: Base | None = None
    #: What the session that is carried on had used before.
    before: Usage = Usage()
    #: Numbers of the messages in the prompt that no run has read.
    told: tuple[int, ...] = ()


def placed(home: Home, config: Config, task: Task, coder: str | None) -> Place | Unfit:
    """Where a task runs and what it asks for."""
    try:
        if compare_json.is_open(home, task.id):
            return Unfit(f"it is being compared: fleet compare {task.id}")
        place = place_of(home, config, task, coder=coder)
        coders.find(place.coder, home.path)
    except FleetError as error:
        return Unfit(error.message)
    if not Path(place.cwd).is_dir():
        return Unfit(f"its directory {place.cwd} is not there")
    return place


def make_ready(
    home: Home,
    config: Config,
    lease: Lease,
    place: Place,
    seat: Seat,
    last: Ending | None,
    *,
    login: Login,
    outline: Login,
    programs: Path,
) -> Ready | Unfit:
    """Put together what a task runs with, on this seat. Touches nothing. Raises AccountTrouble.

    `last` is the end of the task's last run. `outline` gives the login of any account with a mark
    in the place of its secret: where its state is.
    """
    try:
        driver = coders.make(
            seat.coder,
            seat.model,
            Options(
                permissions=config.permissions,
                last_ending=resume_policy.told(last),
                max_cost=place.ruled.policy.limits.cost,
            ),
            home.path,
        )
        task = structs.replace(lease.task, cwd=place.cwd, coder=seat.coder, model=seat.model)
        given = login(seat.account)
        env = run_env(home, driver, task, given)
        session = resume_policy.session_to_carry_on(last, driver)
        files = _session(config, driver, last, seat, env, outline) if session else ()
        session = None if files is None else session
        said = messages.read(home.task(lease.task.id))
        number = _latest(home.task(lease.task.id)) if session else None
        driver.options = structs.replace(
            driver.options,
            told=messages.for_prompt(said, resumed=number),
            hook=str(programs / HOOK),
            refuse=place.ruled.policy.tripwire == "refuse",
            context=place.ruled.policy.context,
            needs=place.ruled.policy.needs,
        )
        if last is not None and session:
            driver.options = structs.replace(driver.options, resume=session, cut_off=last.cut_off)
    except AccountTrouble:
        raise
    except FleetError as error:
        return Unfit(error.message)
    return Ready(
        task=task,
        coder=driver,
        account=seat.account,
        session=files or (),
        given=given,
        outline=outline(seat.account),
        env=env,
        policy=place.ruled.policy,
        before=last.session_usage if last is not None and session else Usage(),
        told=tuple(tell.number for tell in said if tell.run is None),
    )


def _latest(task_dir: Path) -> int | None:
    run = latest_run(task_dir)
    return run.number if run else None


def moved(home: Home, ready: Ready, workspace: Workspace) -> Ready | Unfit:
    """What a run needs, in the directory that was prepared for it."""
    if workspace.cwd == ready.task.cwd:
        return structs.replace(ready, base=workspace.base)
    task = structs.replace(ready.task, cwd=workspace.cwd)
    try:
        env = run_env(home, ready.coder, task, ready.given)
    except FleetError as error:
        return Unfit(error.message)
    return structs.replace(ready, task=task, env=env, base=workspace.base)


def _session(
    config: Config,
    coder: Coder,
    last: Ending | None,
    seat: Seat,
    env: Mapping[str, str],
    outline: Login,
) -> tuple[tuple[Path, Path], ...] | None:
    """What has to be copied for a session to go on with another account: its files, and where to.

    None: it cannot go on there.
    """
    before = last.account if last is not None else ""
    if last is None or before in ("", seat.account.name):
        return ()
    try:
        account = find_account(before, seat.coder, config)
        theirs = {**env, **dict.fromkeys(coder.credentials, ""), **outline(account)}
    except FleetError:
        return None  # the account is gone, and with it the way to its files
    if account.is_own and coder.state_variable:
        theirs[coder.state_variable] = own_env().get(coder.state_variable, "")
    return moving(coder, last.session_id, theirs, env)


def launch(
    home: Home, config: Config, lease: Lease, ready: Ready, programs: Path
) -> ActiveRun | Unfit | Short | SessionGone:
    """Prepare the run's directory and start its keeper. A full disk is an OSError."""
    task, coder = ready.task, ready.coder
    task_dir = home.task(task.id)
    (task_dir / "artifacts").mkdir(mode=0o700, parents=True, exist_ok=True)
    words = _words(coder, task, task_dir, ready.env)
    if isinstance(words, Unfit):
        return words
    argv, prompt = words
    try:
        move(ready.session)  # before its length is taken: what is in it by now was told before
    except FileNotFoundError:
        return SessionGone()
    spec = RunSpec(
        id=str(RunId.of(lease)),
        argv=argv,
        cwd=str(task.cwd),
        stdin="prompt.md" if coder.prompt_on_stdin else None,
        grace=float(config.grace_s),
        time_limit=ready.policy.limits.time + KEEPERS_SLACK,
        coder=str(task.coder),
        model=coder.model,
        account=ready.account.name,
        login=dict(ready.outline),
        artifacts=fingerprint(task_dir / "artifacts"),
        resumes=coder.options.resume or "",
        before=ready.before,
        second_from=_second_size(coder, ready.env),
        policy=ready.policy,
        base=ready.base,
    )
    run = new_run(task_dir, spec, prompt)
    messages.give(task_dir, ready.told, run.number)
    _point_to(task_dir / "log.stderr", run)
    env = {**ready.env, "FLEET_RUN_DIR": str(run.path)}
    active = ActiveRun(lease.task, run, coder, env=env, spec=spec)
    try:
        keeper = start_keeper(run, env, programs / KEEPER)
    except FleetError as error:
        active.start_trouble = error.message
        return Short(error.message, active)
    if isinstance(keeper, Busy):
        active.start_trouble = "what is left of an earlier run withstands killing"
    else:
        active.keeper = keeper
    return active


def _words(
    coder: Coder, task: Task, task_dir: Path, env: Mapping[str, str]
) -> tuple[tuple[str, ...], bytes] | Unfit:
    """The argv and the prompt."""
    try:
        leave_out = coder.left_out(env, str(task.cwd))
        coder.options = structs.replace(coder.options, leave_out=leave_out)
        prompt = coder.prompt(task, task_dir).encode(errors="replace")
        if not coder.prompt_on_stdin:
            coder.prompt_file(task_dir).write_bytes(prompt)
        return tuple(map(str, coder.build_argv(task, task_dir))), prompt
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - a coder may be foreign code
        return Unfit(f"coder {coder.name} failed: {type(error).__name__}: {error}")


def _second_size(coder: Coder, env: Mapping[str, str]) -> int:
    """The length of the record of a resumed session: its lines belong to earlier runs."""
    place = coder.second_stream(coder.options.resume, env) if coder.options.resume else None
    found = sorted(place[0].glob(place[1])) if place else []
    return found[0].stat().st_size if found else 0


def _point_to(link: Path, run: Run) -> None:
    """Make `log.stderr` a link to the stderr of the latest run."""
    target = f"runs/{run.path.name}/stderr"
    try:
        link.symlink_to(target)
    except FileExistsError:
        fresh = link.with_name(f".{link.name}")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        fresh.replace(link)
