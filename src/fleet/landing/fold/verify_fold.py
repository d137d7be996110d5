"""Verifies a fold: in a checkout of exactly that tree, in the box, each command under a keeper.

The place follows from the tree. So a lander that comes after a `kill -9` finds a command at work,
or how it ended, and what an earlier train has left is ended and removed. The last checkout is kept
as a spare, out of which the next one is made.
"""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from fleet.evidence.verify_commands import check_in, checkout_place
from fleet.git.checkout import spare_checkout
from fleet.git.checkout.fresh_checkout import is_made, throw_away
from fleet.git.land.land_repository import LandRepository
from fleet.git.own.own_repository import stores_of
from fleet.home import Home
from fleet.home.landing_json import OUTPUT_KEPT
from fleet.landing.fold.fold_checks import CheckPlan
from fleet.landing.train_store import Train
from fleet.processes import keeper_client
from fleet.runs.run_directory import Run, RunSpec, latest_run, new_run, newest_first
from fleet.schemas import Base, Check

_CHECKOUT = "checkout"
#: Beside the directories of trees: those that are just being removed.
_BIN = "removed"
#: Beside them, too: the last checkout.
_SPARE = "spare"
#: In the directory of a tree: one folder of commands a plan, and one of its set-up.
_VERIFY, _SETUP = "verify", "setup"


class FoldResult(Struct, frozen=True, kw_only=True):
    """What the commands said about a fold."""

    #: The names of the checks that passed, and the one that did not; empty: all passed.
    passed: tuple[str, ...] = ()
    failed: str = ""
    #: The end of what the failed command printed.
    output: str = ""
    #: Why the commands could not be run at all, through no fault of the work; empty if they could.
    trouble: str = ""


def verify_fold(
    home: Home,
    land: LandRepository,
    place: Path,
    train: Train,
    plans: Sequence[CheckPlan],
    known: frozenset[str],
    abandon: threading.Event,
) -> FoldResult | None:
    """Run the commands of all plans on a train's fold, but those that are `known` to pass; None:
    `abandon` was set. Raises FleetError and OSError if there is no place to run them in.
    """
    run = _run_at(place)
    root = place / _CHECKOUT
    if not is_made(root):
        _check_out(land, train, root)
    passed: list[str] = []
    for number, plan in enumerate(plans, start=1):
        result = _verify(home, land, run, root, train.tree, number, plan, known, abandon)
        if result is None:
            return None
        passed += result.passed
        if result.failed or result.trouble:
            return structs.replace(result, passed=tuple(passed))
    return FoldResult(passed=tuple(passed))


def _check_out(land: LandRepository, train: Train, root: Path) -> None:
    """Make the checkout, out of the spare if there is one. Raises FleetError and OSError."""
    now = Base(root="", head=train.new, branch=f"refs/heads/{train.branch}")
    folder = root.parent.parent
    spare, bin_ = folder.with_name(_SPARE), folder.with_name(_BIN)
    spare_checkout.check_out(land.git, train.tree, root, now, spare, bin_)


def clear(folder: Path, keep: Path | None = None) -> None:
    """End what earlier trains left at work, and remove their places, all but one. A checkout of
    theirs becomes the spare.
    """
    bin_ = folder.with_name(_BIN)
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if place != keep:
            _end_commands(place)
            spare_checkout.keep(place / _CHECKOUT, folder.with_name(_SPARE), bin_)
            throw_away(place, bin_)


def drop_spares(trains: Path, older_than: float) -> None:
    """Remove the spares of branches that nothing has landed on since a moment, in seconds. A lander
    that is just about to use one makes its checkout anew. Raises OSError.
    """
    for place in sorted(trains.iterdir()) if trains.is_dir() else ():
        with suppress(FileNotFoundError):
            if (place / _SPARE).lstat().st_mtime < older_than:
                throw_away(place / _SPARE, place / _BIN)


def _end_commands(place: Path) -> None:
    run = latest_run(place)
    folders = os.listdir(run.path) if run is not None else []  # noqa: PTH208
    for folder in folders:
        for attempt in newest_first(run.path, folder) if run is not None else ():
            if keeper_client.is_alive(attempt):
                keeper_client.stop(attempt, now=True)
                keeper_client.state_of(attempt)  # waits until all processes have ended


def _run_at(place: Path) -> Run:
    run = latest_run(place)
    if run is not None:
        return run
    place.mkdir(mode=0o700, exist_ok=True)
    return new_run(place, RunSpec(id=f"train.{place.name}", argv=(), cwd=str(place)))


def _verify(
    home: Home,
    land: LandRepository,
    run: Run,
    root: Path,
    tree: str,
    number: int,
    plan: CheckPlan,
    known: frozenset[str],
    abandon: threading.Event,
) -> FoldResult | None:
    """Set the checkout up for one plan, and run the plan's commands."""
    wanted = [pair for pair in zip(plan.names, plan.commands, strict=True) if pair[0] not in known]
    if not wanted:
        return FoldResult()
    policy = plan.policy
    place = checkout_place(
        root, tree=tree, top=plan.top, inside=plan.inside, project=plan.project,
        share=policy.copies.share, stores=stores_of(land.own),
    )  # fmt: skip
    done = check_in(
        place, [command for _, command in wanted], policy,
        home=home, records=run.path, mark=run.spec().id, abandon=abandon,
        folders=(f"{_SETUP}-{number}", f"{_VERIFY}-{number}"),
    )  # fmt: skip
    if done is None:
        return None
    if done.setup is not None:
        return _failed(f"set-up: {done.setup.command}", done.setup)
    checks = done.checks
    names = [name for (name, _), check in zip(wanted, checks, strict=False) if check.passed]
    if not checks or checks[-1].passed:
        return FoldResult(passed=tuple(names))
    failed = _failed(wanted[len(checks) - 1][0], checks[-1])
    return structs.replace(failed, passed=tuple(names))


def _failed(name: str, check: Check) -> FoldResult:
    if check.trouble:
        return FoldResult(trouble=f"{check.command}: {check.trouble}")
    return FoldResult(failed=name, output=_words(check))


def _words(check: Check) -> str:
    """How a command failed, and the end of the output."""
    how = "took too long" if check.timed_out else f"ended with {check.code}"
    return f"$ {check.command}\n{check.tail}\n({how})"[-OUTPUT_KEPT:]
