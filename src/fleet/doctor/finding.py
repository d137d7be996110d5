"""What a check sees, and what it is given to look at."""

import stat
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from msgspec import Struct

from fleet.config import Config
from fleet.home import Home

Severity = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """What one check saw."""

    check: str
    severity: Severity
    what: str
    fix: str = ""


class Patient(Struct, frozen=True, kw_only=True):
    """A fleet home and the machine around it."""

    home: Home
    env: Mapping[str, str]
    now: datetime
    #: None: there is none, or it is broken; another check says so.
    config: Config | None = None


Check = Callable[[Patient], Iterator[Finding]]


def readable_by_others(whose: str, secret: Path) -> Iterator[Finding]:
    """A login that anybody on the machine can read."""
    try:
        mode = stat.S_IMODE(secret.stat().st_mode)
    except OSError:
        return
    if mode & 0o077:
        what = f"{whose}: others can read {secret} (mode {mode:04o})"
        yield Finding("secrets", "warning", what, f"Close it: chmod 600 {secret}")
