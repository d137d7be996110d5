"""The operator's verify commands, which fleet runs once an agent claims to be done.

Each command runs under a keeper of its own in `runs/<n>/verify/<k>/`, so that its whole process
tree ends, its output is kept, and a new supervisor finds the command at work, or how it ended.
"""

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from fleet.errors import FleetError, InvalidTask
from fleet.evidence.command_box import CommandBox, box_command
from fleet.files.safe_read import tail
from fleet.processes import keeper_client, process_identity
from fleet.processes.keeper_client import Busy, Ended, Keeper, Orphaned, Running
from fleet.runs.run_directory import Run, RunSpec, new_run, newest_first
from fleet.schemas import Check

_SHELL = "/bin/sh"
#: Where in the run's directory commands are recorded: verify commands, and those that set up the
#: checkout that they run in.
FOLDER = "verify"
CHECKOUT_SETUP = "verify-setup"
FOLDERS = (FOLDER, CHECKOUT_SETUP)
#: How many characters of a command's output go into the receipt and to the next agent.
TAIL = 2000
#: Seconds for a stopped command to end by itself.
_GRACE = 2.0
#: Seconds between two questions whether to go on waiting.
_PAUSE = 0.25
#: How often a command is run whose keeper is killed each time.
_TRIES = 3
#: Variables of a run; with these a verify command would pass for the agent.
_NOT_PASSED = ("FLEET_RUN_DIR", "FLEET_TASK_ID", process_identity.MARK)


def check_all(
    run: Run,
    commands: Sequence[str],
    cwd: str,
    *,
    limit: float,
    env: Mapping[str, str],
    abandon: threading.Event,
    folder: str = FOLDER,
    box: CommandBox | None = None,
) -> tuple[Check, ...] | None:
    """Run the commands in order until one fails. None: `abandon` was set, or a person stopped them.

    Each runs in a box of its own, if there is to be one.

    Blocks until the commands have ended; not for the loop's thread.
    """
    clean = {name: value for name, value in env.items() if name not in _NOT_PASSED}
    done: list[Check] = []
    for number, command in enumerate(commands, start=1):
        check = _check(
            run,
            number,
            command,
            cwd,
            limit=limit,
            env=clean,
            abandon=abandon,
            folder=folder,
            box=box,
        )
        if check is None:
            return None
        done.append(check)
        if not check.passed:
            break
    return tuple(done)


def _check(
    run: Run,
    number: int,
    command: str,
    cwd: str,
    *,
    limit: float,
    env: Mapping[str, str],
    abandon: threading.Event,
    folder: str,
    box: CommandBox | None,
) -> Check | None:
    for _ in range(_TRIES):
        try:
            attempt = _begun(run, command, cwd, folder)
            if attempt is None:
                argv, inside = box_command((_SHELL, "-c", command), cwd, env, box)
                attempt = _prepare(run, number, argv, cwd, folder)
                keeper = keeper_client.start_keeper(attempt, inside)
            else:
                keeper = _at_work(attempt)
        except (FleetError, OSError) as error:
            return Check(command=command, trouble=f"could not be run: {error}")
        if isinstance(keeper, Busy):
            return Check(command=command, trouble="another verify command of the run is at work")
        timed_out = keeper is not None and _see_out(keeper, limit, abandon)
        if abandon.is_set() or (not timed_out and _was_stopped(attempt)):
            return None
        if (check := _result(attempt, command, timed_out=timed_out)) is not None:
            return check
    return Check(command=command, trouble=f"was lost {_TRIES} times")


def _was_stopped(attempt: Run) -> bool:
    """The command was stopped from outside, so that the end says nothing about the work."""
    try:
        ended = attempt.exit()
    except InvalidTask:
        return False
    return ended is not None and ended.stop is not None


def _see_out(keeper: Keeper, limit: float, abandon: threading.Event) -> bool:
    """Wait for the end of the command, or end the command at `limit` or `abandon`.
    True: too long.
    """
    began = time.monotonic()
    try:
        if _wait(keeper, lambda: abandon.is_set() or time.monotonic() - began >= limit):
            return False
        process_identity.send(keeper.who, signal.SIGTERM)
        if not keeper.wait(_GRACE + 1):
            process_identity.send(keeper.who, signal.SIGINT)
            keeper.wait(_GRACE)
    finally:
        keeper.close()
    return not abandon.is_set()


def _at_work(attempt: Run) -> Keeper | None:
    """The keeper of a command that an earlier supervisor started; None: the command has ended."""
    who = keeper_client.keeper_of(attempt)
    return keeper_client.find_keeper(who) if who is not None else None


def _begun(run: Run, command: str, cwd: str, folder: str) -> Run | None:
    """The last try of the command in this directory, if at work or ended without a stop."""
    for attempt in newest_first(run.path, folder):
        spec = attempt.spec()
        if spec.argv[-1:] == (command,) and spec.cwd == cwd:
            state = keeper_client.state_of(attempt)
            if isinstance(state, Orphaned):
                raise FleetError("processes of an earlier try cannot be killed")
            lives = isinstance(state, Running)
            return attempt if lives or (isinstance(state, Ended) and not state.exit.stop) else None
    return None


def _prepare(run: Run, number: int, argv: tuple[str, ...], cwd: str, folder: str) -> Run:
    spec = RunSpec(
        # Unlike the id of a run, so that no command is taken for an agent.
        id=f"{folder}.{run.spec().id}.{number}",
        argv=argv,
        boxed=argv[0] != _SHELL,
        cwd=cwd,
        grace=_GRACE,
    )
    return new_run(run.path, spec, folder=folder)


def _wait(keeper: Keeper, enough: Callable[[], bool]) -> bool:
    while not keeper.wait(_PAUSE):
        if enough():
            return False
    return True


def _result(attempt: Run, command: str, *, timed_out: bool) -> Check | None:
    """How the command ended, by the record of the keeper; None if there is no record."""
    try:
        ended = attempt.exit()
    except InvalidTask as error:
        return Check(command=command, trouble=error.message)
    if ended is None:
        return None
    if ended.error is not None:
        return Check(command=command, trouble=f"could not be run: {ended.error.message}")
    return Check(
        command=command,
        code=None if timed_out else ended.code,
        started_at=ended.started_at,
        seconds=ended.seconds,
        timed_out=timed_out,
        tail=_tail(attempt),
    )


def _tail(attempt: Run) -> str:
    """The end of what the command printed on stdout and stderr."""
    texts = (tail(path, TAIL).strip() for path in (attempt.stdout, attempt.stderr))
    return "\n".join(filter(None, texts))[-TAIL:]
