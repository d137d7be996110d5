"""The verify commands of a task, tried on the commit that its work begins at.

All of them run, in a fresh checkout of that commit and by the code that verifies runs, so that each
tells whether it can be started and how many tests it runs. The results are kept
(`tried_commands.py`), and nothing runs where all are known.
"""

import errno
import os
import re
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct, structs

from fleet.evidence import tried_commands
from fleet.evidence.tried_commands import CheckoutPlace, Trial
from fleet.evidence.verify_commands import check_in, checkout_place
from fleet.evidence.verify_place import USUAL, lacking
from fleet.files.file_lock import locked
from fleet.files.machine_short import shortage
from fleet.git.checkout.fresh_checkout import is_made, make_checkout, remove_tree
from fleet.git.git_command import Git
from fleet.git.own.own_repository import own_repository, stores_of
from fleet.git.refs import tree_of
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.home.base_wait import BaseWait, WaitKind
from fleet.runs.run_directory import Run, RunSpec, latest_run, new_run
from fleet.schemas import Base, BaseCheck, Check, Policy
from fleet.schemas.shown_text import one_line

#: Seconds to write a large tree.
_LIMIT = 300.0
#: Seconds between two looks whether another thread has done with the same commands.
_PAUSE = 0.25
_CHECKOUT = "checkout"
#: Exit codes of a shell that could not start a program.
_NOT_STARTED = (126, 127)
#: `python -m` of a module that is not there, and a script that npm does not know.
_NO_RUNNER = re.compile(
    r"^(?:\S*python[\d.]*: No module named \S+"
    r"|\S*python[\d.]*: Error while finding module specification for .*"
    r"|npm (?:ERR!|error) Missing script: .*)$",
    re.MULTILINE,
)
#: What a shell says of a program that is not there.
_MISSING = re.compile(
    r"(\S+): (?:command )?not found$|(\S+): No such file or directory$", re.MULTILINE
)
#: make says so of a rule's command.
_IN_MAKE = re.compile(r"^make(?:\[\d+\])?: \*\*\* \[.*\] Error 12[67]$", re.MULTILINE)


class BaseCase(Struct, frozen=True, kw_only=True):
    """The commands of one task, and the commit to try them on."""

    home: Home
    #: The project's repository; and the commit, its tree, and what people call it.
    repo: Repository
    commit: str
    tree: str
    name: str
    #: The task's directory from the top of the repository, and the project's own directory.
    inside: str
    project: str
    policy: Policy
    #: The commands came with the task, so that the work may be to make them pass.
    own: bool = False

    @property
    def place(self) -> CheckoutPlace:
        return CheckoutPlace(
            tree=self.tree,
            inside=self.inside,
            project=self.project,
            copy=os.path.relpath(self.project, self.repo.root),
        )

    @property
    def key(self) -> str:
        """Stands for this tree with these commands."""
        return tried_commands.keys_of(self.place, self.policy, self.policy.verify)[-1]


def base_case(
    home: Home,
    repo: Repository,
    commit: str,
    policy: Policy,
    *,
    cwd: str,
    name: str = "",
    own: bool = False,
) -> BaseCase:
    """The case of a task that names the directory `cwd` in this repository. Raises GitFailed."""
    top = os.path.realpath(repo.root)
    project = os.path.realpath(policy.copies.project or top)
    return BaseCase(
        home=home,
        repo=repo,
        commit=commit,
        tree=tree_of(_git(home, repo)[0], commit),
        name=name or commit[:12],
        inside=os.path.relpath(os.path.realpath(cwd), top),
        project=project if project.startswith(f"{top}/") else top,
        policy=policy,
        own=own,
    )


def known_trials(case: BaseCase, *, for_start: bool = True) -> tuple[Trial, ...] | None:
    """What is known of all commands of the case; None: they have to be tried. `for_start`: a
    failure is not believed for ever.
    """
    return tried_commands.known(
        case.home, case.place, case.policy, case.policy.verify, for_ever=not for_start
    )


def with_base(checks: Sequence[Check], trials: Sequence[Trial]) -> tuple[Check, ...]:
    """Checks of a run, each with what the same command came to on the base. Pure."""
    known = [
        None if each.in_setup else BaseCheck(passed=each.check.passed, tests=each.check.tests)
        for each in trials
    ]
    both = zip_longest(checks, known[: len(checks)])
    return tuple(structs.replace(check, base=base) for check, base in both)


def try_base(case: BaseCase, abandon: threading.Event) -> tuple[Trial, ...] | None:
    """Try the commands on the base, unless all are known; None: `abandon` was set.

    Blocks; not for the loop's thread. Raises FleetError and OSError if there is no checkout.
    """
    folder = tried_commands.folder_of(case.home, case.project)
    for each in (folder.parent, folder):
        each.mkdir(mode=0o700, exist_ok=True)
    while not abandon.is_set():
        with locked(folder / f"{case.key}.lock") as lock:
            if lock is not None:
                return known_trials(case) or _tried(case, folder / case.key, abandon)
        time.sleep(_PAUSE)
    return None


def _tried(case: BaseCase, place: Path, abandon: threading.Event) -> tuple[Trial, ...] | None:
    """Run the commands. The place follows from the case, so that a supervisor that comes after a
    kill finds a command at work there, or how it ended.
    """
    run = _run_at(place)
    root = place / _CHECKOUT
    git, own = _git(case.home, case.repo)
    if not is_made(root):
        branch = f"refs/heads/{case.name}" if not case.commit.startswith(case.name) else ""
        make_checkout(git, case.tree, root, Base(root="", head=case.commit, branch=branch))
    at = checkout_place(
        root, tree=case.tree, top=case.repo.root, inside=case.inside, project=case.project,
        share=case.policy.copies.share, stores=stores_of(own),
    )  # fmt: skip
    done = check_in(
        at, case.policy.verify, case.policy,
        home=case.home, records=run.path, mark=run.spec().id, abandon=abandon, to_the_end=True,
    )  # fmt: skip
    if done is None:
        return None
    passed = done.setup is None and all(check.passed for check in done.checks)
    if not passed and (short := shortage(case.home.path)):
        remove_tree(place)
        raise OSError(errno.ENOSPC, short)  # a failure says nothing on such a machine
    checks = done.checks or (done.setup,) * len(case.policy.verify)
    lacks = lacking(case.project, at.copy)
    trials = tuple(
        Trial(check=_with(check, lacks), in_setup=done.setup is not None, at=time.time())
        for check in checks
        if check is not None
    )
    tried_commands.note(case.home, case.place, case.policy, case.policy.verify, trials)
    remove_tree(place)
    return trials


def _run_at(place: Path) -> Run:
    """The records of a trial. Raises OSError."""
    known = latest_run(place)
    if known is not None:
        return known
    place.mkdir(mode=0o700, exist_ok=True)
    return new_run(place, RunSpec(id=f"base.{place.name}", argv=(), cwd=str(place)))


def _with(check: Check, lacks: tuple[str, ...]) -> Check:
    return check if check.passed else structs.replace(check, lacks=lacks)


def _git(home: Home, repo: Repository) -> tuple[Git, Repository]:
    """Git in fleet's own directory for the repository, and that directory. Raises FleetError."""
    common = Repository(root=repo.common_dir, git_dir=repo.common_dir, common_dir=repo.common_dir)
    own = own_repository(home.path, common)
    return Git(own, time.monotonic() + _LIMIT), own


def obstacle(case: BaseCase, trials: Sequence[Trial], now: datetime) -> BaseWait | None:
    """Why the task is not to start on this base; None: it may.

    A command of the task's own that runs and fails is no obstacle: the work may be to make it pass.
    """
    for trial in trials:
        check = trial.check
        if trial.in_setup:
            return _wait(case, "set_up", check, ending_words(check), now)
        if words := why_not_started(check):
            place = f"{case.repo.root}/{case.inside}"
            if not (case.own and may_be_made(check, place)):
                return _wait(case, "not_started", check, words, now)
    if case.own:
        return None
    failed = next((trial.check for trial in trials if not trial.check.passed), None)
    return _wait(case, "fails", failed, ending_words(failed), now) if failed else None


def why_not_started(check: Check) -> str:
    """What a command printed that could not be started; empty: it ran. Pure."""
    if check.trouble:
        return check.trouble
    if check.passed or check.tests is not None or check.timed_out:
        return ""
    lines = [line.strip() for line in check.tail.splitlines() if line.strip()]
    said = _NO_RUNNER.search(check.tail)
    if said:
        return said[0]
    if check.code not in _NOT_STARTED and not _IN_MAKE.search(check.tail):
        return ""
    missing = _MISSING.search(check.tail)
    return missing[0] if missing else lines[-1] if lines else f"ended with {check.code}"


def ending_words(check: Check) -> str:
    """How a command failed, in a few words. Pure."""
    if check.trouble:
        return check.trouble
    if check.timed_out:
        return f"did not end within {check.seconds:.0f} s"
    return f"ended with {check.code}"


def may_be_made(check: Check, place: str) -> bool:
    """Whether the command lacks a file of the project's that is not in this directory either, so
    that making it may be the task.
    """
    found = _MISSING.search(check.tail)
    path = (found[1] or found[2]).strip("'\"`") if found else ""
    if "/" not in path or path.startswith("/") or os.path.normpath(path).split("/")[0] in USUAL:
        return False
    return not os.path.lexists(f"{place}/{path}")


def _wait(case: BaseCase, kind: WaitKind, check: Check, words: str, now: datetime) -> BaseWait:
    return BaseWait(
        kind=kind,
        base=case.key,
        name=case.name,
        commit=case.commit,
        command=check.command,
        words=one_line(words),
        own=case.own,
        project=case.project,
        lacks=check.lacks,
        at=now,
    )
