"""The project's commands that make a fresh worktree fit to work in."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from fleet.coders.environment import plain_env
from fleet.errors import FleetError
from fleet.schemas import Check
from fleet.supervisor.verify import check_all
from fleet.taskdir.rundir import Run, Spec

FOLDER = "setup"
_FAILED = "setup.failed"


class Errand(Run, frozen=True):
    """A place for commands that belong to no run: it has a mark, and nothing else of one."""

    def spec(self) -> Spec:
        return Spec(id=self.path.parent.name, argv=(), cwd="")


def set_up(
    place: Path,
    commands: Sequence[str],
    cwd: str,
    *,
    project: str,
    limit: float,
    abandon: threading.Event,
) -> bool:
    """Run the commands in order. False: we were told to leave it. Raises FleetError if one fails.

    Each runs under a keeper in `setup/<k>/`, so one that a dead supervisor had begun is waited for
    and not begun again.
    """
    env = {**plain_env(os.environ), "FLEET_PROJECT_DIR": project}
    checks = check_all(
        Errand(place), commands, cwd, limit=limit, env=env, abandon=abandon, folder=FOLDER
    )
    if checks is None:
        return False
    failed = [check for check in checks if not check.passed]
    if failed:
        _put_aside(place)
        raise FleetError(_told(failed[0], limit))
    return True


def begin_anew(place: Path) -> None:
    """What was set up before is gone: nothing that is known of it counts any more."""
    _put_aside(place)


def _put_aside(place: Path) -> None:
    """Keep what was printed, and let the next try begin from nothing."""
    number = 1
    while (kept := place / f"{_FAILED}.{number}").exists():
        number += 1
    if (place / FOLDER).exists():
        (place / FOLDER).rename(kept)


def _told(check: Check, limit: float) -> str:
    if check.trouble:
        how = check.trouble
    elif check.timed_out:
        how = f"took longer than {limit:g} s"
    else:
        how = f"ended with {check.code}"
    tail = f":\n{check.tail}" if check.tail else ""
    return f"the set-up of its worktree failed: {check.command!r} {how}{tail}"
