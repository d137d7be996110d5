"""`fleet doctor`: what makes a first run fail or cost too much, each with the remedy.

Every check is a function that takes the Installation and yields findings. The checks run side by
side; a check that hangs or fails is a finding itself.
"""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from fleet import config
from fleet.config import Config
from fleet.doctor import (
    check_coders,
    check_home,
    check_leftovers,
    check_machine,
    check_project,
    check_queue,
)
from fleet.doctor.check_result import CheckResult, DoctorCheck, Installation, Severity
from fleet.errors import FleetError
from fleet.home import Home, home_from

__all__ = ["CHECKS", "CheckResult", "Severity", "examine"]

#: In the order in which findings are printed.
CHECKS: tuple[tuple[str, DoctorCheck], ...] = (
    ("python", check_machine.python),
    ("git", check_machine.git),
    ("disk", check_machine.disk),
    ("limits", check_machine.limits),
    ("memory", check_machine.memory),
    ("home", check_home.place),
    ("config", check_home.settings),
    ("permissions", check_home.permissions),
    ("sandbox", check_machine.sandbox),
    ("context", check_home.context),
    ("verify", check_project.verify),
    ("landing", check_project.landing),
    ("queue", check_queue.queue),
    ("coder", check_coders.coders),
    ("supervisor", check_home.supervisor),
    ("held", check_leftovers.held),
    ("notify", check_leftovers.channels),
    ("runs", check_leftovers.stale_runs),
    ("orphans", check_leftovers.orphans),
    ("clones", check_leftovers.clones),
)

#: Seconds for all checks together; a CLI that is asked has less.
PATIENCE = 20.0


def examine(
    env: Mapping[str, str] = os.environ,
    *,
    checks: Sequence[tuple[str, DoctorCheck]] = CHECKS,
    patience: float = PATIENCE,
) -> list[CheckResult]:
    """Run every check. A check that cannot run is a finding, not a crash."""
    try:
        home = home_from(env)
    except FleetError as error:
        return [CheckResult("home", "error", error.message, error.hint)]
    installation = Installation(home=home, env=env, now=datetime.now(UTC), config=_config(home))
    late = f"this check did not end within {patience:g} s"
    found = [
        [CheckResult(name, "warning", late, "Try again when less is going on.")]
        for name, _ in checks
    ]

    def run(number: int) -> None:
        found[number] = _run(*checks[number], installation)

    # Daemon threads: a check that hangs must not keep the program from ending.
    threads = [
        threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(checks))
    ]
    until = time.monotonic() + patience
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [finding for findings in found for finding in findings]


def _run(name: str, check: DoctorCheck, installation: Installation) -> list[CheckResult]:
    findings: list[CheckResult] = []
    try:
        findings.extend(check(installation))
    except FleetError as error:
        findings.append(CheckResult(name, "error", error.message, error.hint))
    except Exception as error:  # noqa: BLE001 - the machine is examined as it is found
        what = f"this check failed: {type(error).__name__}: {error}"
        findings.append(
            CheckResult(name, "warning", what, "This is a fault of fleet's: report it.")
        )
    return findings


def _config(home: Home) -> Config | None:
    try:
        return config.load(home.config)
    except FleetError:
        return None
