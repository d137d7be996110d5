"""The project's commands that make a fresh clone fit to work in."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from fleet.coders.agent_environment import plain_env
from fleet.errors import FleetError
from fleet.evidence.command_box import CommandBox
from fleet.evidence.verify_commands import check_all
from fleet.home.clone_record import SETUP, put_aside_setup
from fleet.runs.run_directory import Run, RunSpec
from fleet.schemas import Check

_OFFLINE = (
    "\n(In a box set-up commands have no network but to the hosts of setup_hosts:"
    " fleet config set --project . setup_hosts=packages.example.org)"
)


class SetupRun(Run, frozen=True):
    """A directory for commands that belong to no run; of a run there is only the id."""

    def spec(self) -> RunSpec:
        return RunSpec(id=self.path.parent.name, argv=(), cwd="")


def set_up(
    place: Path,
    commands: Sequence[str],
    cwd: str,
    *,
    project: str,
    limit: float,
    abandon: threading.Event,
    box: CommandBox,
) -> bool:
    """Run the commands in order. False: it was stopped. Raises FleetError if one fails.

    Each runs under a keeper in `setup/<k>/`, so one that a dead supervisor had begun is waited for
    and not begun again. In a box they can read the project too, for files that no commit holds.
    """
    env = {**plain_env(os.environ), "FLEET_PROJECT_DIR": project}
    checks = check_all(
        SetupRun(place), commands, cwd, limit=limit, env=env, abandon=abandon, folder=SETUP, box=box
    )
    if checks is None:
        return False
    failed = [check for check in checks if not check.passed]
    if failed:
        put_aside_setup(place)
        offline = box.sandbox.level != "off" and not box.hosts
        raise FleetError(_failure_words(failed[0], limit) + (_OFFLINE if offline else ""))
    return True


def _failure_words(check: Check, limit: float) -> str:
    if check.trouble:
        how = check.trouble
    elif check.timed_out:
        how = f"took longer than {limit:g} s"
    else:
        how = f"ended with {check.code}"
    tail = f":\n{check.tail}" if check.tail else ""
    return f"the set-up of its clone failed: {check.command!r} {how}{tail}"
