"""What a check is given, and what a check returns."""

import stat
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from fleet.config import Config
from fleet.home import Home

Severity = Literal["ok", "warning", "error"]


class CheckResult(Struct, frozen=True):
    """One result of a check."""

    check: str
    severity: Severity
    what: str
    fix: str = ""


class Installation(Struct, frozen=True, kw_only=True):
    """A fleet home and the machine around it."""

    home: Home
    env: Mapping[str, str]
    now: datetime
    #: None: there is no configuration, or it is broken, which the check `config` reports.
    config: Config | None = None


DoctorCheck = Callable[[Installation], Iterator[CheckResult]]


def readable_by_others(whose: str, secret: Path) -> Iterator[CheckResult]:
    """A finding if other users of the machine can read a file of secrets."""
    try:
        mode = stat.S_IMODE(secret.stat().st_mode)
    except OSError:
        return
    if mode & 0o077:
        what = f"{whose}: others can read {secret} (mode {mode:04o})"
        yield CheckResult("secrets", "warning", what, f"Close it: chmod 600 {secret}")
