"""The operator's verify commands, which fleet runs once an agent claims to be done, and before the
first agent of a task begins.

Each command runs under a keeper of its own in `runs/<n>/verify/<k>/`, so that its whole process
tree ends, its output is kept, and a new supervisor finds the command at work, or how it ended. So
do the set-up commands of a clone or a checkout. Both run what agents wrote: their box is that of a
run without an agent, with no keys, no state of a CLI, no spool, and no network.
"""

import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from fleet.coders.agent_environment import plain_env
from fleet.errors import FleetError, InvalidTask
from fleet.evidence.test_counts import count_tests
from fleet.evidence.tried_commands import CheckoutPlace, note_passed
from fleet.files.machine_short import is_short
from fleet.files.safe_read import tail
from fleet.git.checkout.shared_paths import link_shared
from fleet.home import Home
from fleet.processes import keeper_client, process_identity
from fleet.processes.keeper_client import Busy, Ended, Keeper, Orphaned, Running
from fleet.runs.run_directory import Run, RunSpec, new_run, newest_first
from fleet.sandbox.bwrap_argv import bwrap_argv
from fleet.sandbox.make_box import make_box
from fleet.sandbox.strict_argv import proxied_env, strict_argv
from fleet.sandbox.toolchains import boxed_env
from fleet.sandbox.try_box import require_box
from fleet.schemas import Check, CountedTests, Policy, Sandbox

_SHELL = "/bin/sh"
#: Where in the run's directory commands are recorded: verify commands, and those that set up the
#: checkout that they run in.
FOLDER = "verify"
CHECKOUT_SETUP = "verify-setup"
FOLDERS = (FOLDER, CHECKOUT_SETUP)
#: How many characters of a command's output go into the receipt and to the next agent.
TAIL = 2000
#: Bytes of one stream that tests are counted in; more output than that is not counted.
_MOST_COUNTED = 16 << 20
#: Seconds for a stopped command to end by itself.
_GRACE = 2.0
#: Seconds between two questions whether to go on waiting.
_PAUSE = 0.25
#: How often a command is run whose keeper is killed each time.
_TRIES = 3
#: Variables of a run; with these a verify command would pass for the agent.
_NOT_PASSED = ("FLEET_RUN_DIR", "FLEET_TASK_ID", process_identity.MARK)


class VerifyPlace(Struct, frozen=True, kw_only=True):
    """A directory to verify in."""

    cwd: str
    #: The tree that is checked out; empty: it is the run's own directory.
    tree: str = ""
    #: Pinned files that the agent had changed.
    restored: tuple[str, ...] = ()
    #: What the commands may write.
    root: str
    #: Of a checkout: where set-up commands run, and the directory that is copied there.
    copy: str = ""
    project: str = ""
    #: What the commands read outside: objects that git borrows, and what the project shares.
    reads: tuple[str, ...] = ()
    #: What the project's directory has and the checkout has not.
    lacks: tuple[str, ...] = ()

    @property
    def tried_at(self) -> CheckoutPlace | None:
        """The place by which results are remembered; None: it is no checkout."""
        if not self.tree or not self.copy:
            return None
        return CheckoutPlace(
            tree=self.tree,
            inside=os.path.relpath(self.cwd, self.root),
            project=self.project,
            copy=os.path.relpath(self.copy, self.root),
        )


class Checked(Struct, frozen=True, kw_only=True):
    """What commands in a place came to."""

    #: The set-up command that failed, after which no other ran; None: none failed.
    setup: Check | None = None
    checks: tuple[Check, ...] = ()


class CommandBox(Struct, frozen=True, kw_only=True):
    """What commands can reach beside the system and toolchains."""

    sandbox: Sandbox
    #: The home of fleet, which stays hidden.
    home: str
    #: The tree that the commands work in.
    tree: str
    read: tuple[str, ...] = ()
    #: Hosts that the commands may reach; none: there is no network.
    hosts: tuple[str, ...] = ()

    def with_project(self, project: str) -> "CommandBox":
        """The box of commands that make the tree fit to work in: they read the project too, for
        files that no commit holds, and reach the hosts that a person opened.
        """
        return structs.replace(self, read=(*self.read, project), hosts=self.sandbox.setup_hosts)


def checkout_place(
    root: Path,
    *,
    tree: str,
    top: str,
    inside: str,
    project: str,
    share: Sequence[str],
    stores: Sequence[str],
) -> VerifyPlace:
    """The place in a checkout of a tree at `root` for commands that run at `inside`.

    `top` is the directory that the checkout stands for, and `project` the directory in it whose
    set-up and shared paths count. Raises FleetError where a link leads out of the checkout.
    """
    copy = os.path.normpath(root / os.path.relpath(project, top))
    cwd = os.path.normpath(root / inside)
    for each in (copy, cwd):
        if not f"{os.path.realpath(each)}/".startswith(f"{os.path.realpath(root)}/"):
            raise FleetError(f"a link leads from {each} out of the checkout")
        os.makedirs(each, exist_ok=True)  # noqa: PTH103 - git holds no empty directory
    shared = link_shared(project, share, copy)
    reads = (*stores, *(f"{project}/{path}" for path in shared))
    return VerifyPlace(cwd=cwd, tree=tree, root=str(root), copy=copy, project=project, reads=reads)


def check_in(
    place: VerifyPlace,
    commands: Sequence[str],
    policy: Policy,
    *,
    home: Home,
    records: Path,
    mark: str,
    abandon: threading.Event,
    folders: tuple[str, str] = (CHECKOUT_SETUP, FOLDER),
    to_the_end: bool = False,
) -> Checked | None:
    """Set the place up, if it is a checkout, and run the commands; None: broken off.

    Both are recorded below `records`, in these `folders`. What passes on a tree is remembered.
    `to_the_end`: commands run after one that failed, too. Blocks; not for the loop's thread.
    """
    env = plain_env(os.environ)
    box = CommandBox(sandbox=policy.sandbox, home=str(home.path), tree=place.root, read=place.reads)
    run = partial(check_all, records, mark, limit=policy.verify_time, abandon=abandon)
    if place.copy:
        env["FLEET_PROJECT_DIR"] = place.project
        fit = box.with_project(place.project)
        made_fit = run(policy.setup, place.copy, env=env, folder=folders[0], box=fit)
        if made_fit is None:
            return None
        if made_fit and not made_fit[-1].passed:
            return Checked(setup=made_fit[-1])
    checks = run(commands, place.cwd, env=env, folder=folders[1], box=box, to_the_end=to_the_end)
    if checks is None:
        return None
    if place.tried_at is not None and checks and all(check.passed for check in checks):
        with suppress(OSError):  # the commands are tried once more then
            note_passed(home, place.tried_at, policy, checks)
    return Checked(checks=checks)


def check_all(
    place: Path,
    mark: str,
    commands: Sequence[str],
    cwd: str,
    *,
    limit: float,
    env: Mapping[str, str],
    abandon: threading.Event,
    folder: str,
    box: CommandBox,
    to_the_end: bool = False,
) -> tuple[Check, ...] | None:
    """Run the commands in order until one fails, or all of them. None: `abandon` was set, or a
    person stopped them.

    A `folder` of the `place` has a record of each, with the `mark` of what the commands are for.
    Each runs in a box of its own, if there is to be one.

    Blocks until the commands have ended; not for the loop's thread.
    """
    check = partial(
        _check, place, place.stat(), cwd=cwd, limit=limit, abandon=abandon, folder=folder, box=box,
        env={name: value for name, value in env.items() if name not in _NOT_PASSED},
    )  # fmt: skip
    done: list[Check] = []
    for number, command in enumerate(commands, start=1):
        result = check(f"{folder}.{mark}.{number}", command)
        if result is None:
            return None
        done.append(result)
        if not result.passed and not to_the_end:
            break
    return tuple(done)


def _check(
    place: Path,
    about: os.stat_result,
    run_id: str,
    command: str,
    *,
    cwd: str,
    limit: float,
    env: Mapping[str, str],
    abandon: threading.Event,
    folder: str,
    box: CommandBox,
) -> Check | None:
    for _ in range(_TRIES):
        try:
            attempt = _begun(place, command, cwd, folder)
            if attempt is None:
                argv, inside = _in_box((_SHELL, "-c", command), cwd, env, box)
                attempt = _prepare(place, about, run_id, argv, cwd, folder)
                moves = Home(Path(box.home)).moves_lock if argv[0] != _SHELL else None
                keeper = keeper_client.start_keeper(attempt, inside, moves=moves)
            else:
                keeper = _at_work(attempt)
        except (FleetError, OSError) as error:
            if is_short(error):
                raise
            return Check(command=command, trouble=f"could not be run: {error}")
        if isinstance(keeper, Busy):
            return Check(command=command, trouble="another verify command of the run is at work")
        timed_out = keeper is not None and _see_out(keeper, limit, abandon)
        if abandon.is_set() or (not timed_out and _was_stopped(attempt)):
            return None
        if (check := _result(attempt, command, timed_out=timed_out)) is not None:
            return check
    return Check(command=command, trouble=f"was lost {_TRIES} times")


def forget_failed(place: Path, folders: Sequence[str] = FOLDERS) -> None:
    """Have every command run again that failed: on a machine that is short of something a failure
    says nothing about the work.
    """
    for folder in folders:
        for attempt in newest_first(place, folder):
            with suppress(InvalidTask):
                if (ended := attempt.exit()) is None or ended.code == 0:
                    continue
            attempt.forget_exit()


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


def _begun(place: Path, command: str, cwd: str, folder: str) -> Run | None:
    """The last try of the command in this directory, if at work or ended by itself, with all of
    its output.
    """
    for attempt in newest_first(place, folder):
        spec = attempt.spec()
        if spec.argv[-1:] == (command,) and spec.cwd == cwd:
            state = keeper_client.state_of(attempt)
            if isinstance(state, Orphaned):
                raise FleetError("processes of an earlier try cannot be killed")
            if isinstance(state, Ended):
                return None if state.exit.stop or state.exit.short else attempt
            return attempt if isinstance(state, Running) else None
    return None


def _prepare(
    place: Path,
    about: os.stat_result,
    run_id: str,
    argv: tuple[str, ...],
    cwd: str,
    folder: str,
) -> Run:
    # An agent without a box may have put a link there since: nothing is written behind it.
    if not os.path.samestat(place.stat(), about):
        raise FleetError(f"something else stands in the place of {place}")
    spec = RunSpec(
        # Unlike the id of a run, so that no command is taken for an agent.
        id=run_id,
        argv=argv,
        boxed=argv[0] != _SHELL,
        cwd=cwd,
        grace=_GRACE,
        reopens=True,
    )
    return new_run(place, spec, folder=folder)


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
    if ended.short:
        raise OSError(errno.ENOSPC, ended.short)
    return Check(
        command=command,
        code=None if timed_out else ended.code,
        started_at=ended.started_at,
        seconds=ended.seconds,
        timed_out=timed_out,
        tail=_tail(attempt),
        tests=_counted(attempt),
    )


def _counted(attempt: Run) -> CountedTests | None:
    streams = (attempt.stdout, attempt.stderr)
    if any(path.lstat().st_size > _MOST_COUNTED for path in streams if path.exists()):
        return None
    return count_tests(*(tail(path, _MOST_COUNTED) for path in streams))


def _tail(attempt: Run) -> str:
    """The end of what the command printed on stdout and stderr."""
    texts = (tail(path, TAIL).strip() for path in (attempt.stdout, attempt.stderr))
    return "\n".join(filter(None, texts))[-TAIL:]


def _in_box(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], box: CommandBox
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command and the environment in the box, or unchanged without a box. Raises FleetError if
    the box cannot be had.
    """
    if box.sandbox.level == "off":
        return tuple(argv), dict(env)
    program = require_box()
    made = make_box(
        env,
        cwd=cwd,
        write=[box.tree, *box.sandbox.write],
        read=[*box.read, *box.sandbox.read],
        hidden=[box.home],
        network=False,
    )
    inside = boxed_env(env)
    if not box.hosts:
        return (program, *bwrap_argv(made, argv)), inside
    words = strict_argv(made, argv, program=program, hosts=box.hosts)
    return words, proxied_env(inside, box.hosts)
