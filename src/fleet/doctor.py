"""The checks behind `fleet doctor`: what makes a first run fail, each with the way to mend it."""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from fleet import __version__, config, taskdir
from fleet.control import Control
from fleet.errors import FleetError
from fleet.taskdir import Home

Severity = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """What one check saw."""

    check: str
    severity: Severity
    what: str
    fix: str = ""


def examine(env: Mapping[str, str] = os.environ) -> list[Finding]:
    """Run every check. A check that cannot run is a finding, not a crash."""
    home = taskdir.home_from(env)
    checks: list[Callable[[Home], Iterator[Finding]]] = [
        _python,
        _git,
        _home,
        _config,
        _queue,
        _coder,
        _held,
    ]
    findings: list[Finding] = []
    for check in checks:
        try:
            findings += check(home)
        except FleetError as error:
            name = check.__name__.removeprefix("_")
            findings.append(Finding(name, "error", error.message, error.hint))
    return findings


def _python(home: Home) -> Iterator[Finding]:
    del home
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", f"Python {version}, fleet {__version__}")


def _git(home: Home) -> Iterator[Finding]:
    del home
    path = shutil.which("git")
    if path:
        yield Finding("git", "ok", path)
    else:
        yield Finding("git", "warning", "git is not on PATH", "Install git: agents expect it.")


def _home(home: Home) -> Iterator[Finding]:
    taskdir.opened(home)
    mode = stat.S_IMODE(home.path.stat().st_mode)
    if mode & 0o077:
        text = f"others can look into {home.path} (mode {mode:04o})"
        yield Finding("home", "warning", text, f"Close it: chmod 700 {home.path}")
    else:
        yield Finding("home", "ok", str(home.path))


def _config(home: Home) -> Iterator[Finding]:
    config.load(home.config)
    yield Finding("config", "ok", str(home.config))


def _queue(home: Home) -> Iterator[Finding]:
    fleet = Control(home, config.load(home.config))
    try:
        kind = fleet.config.queue.partition(":")[0]
        if kind == "beads":
            yield from _bd()
        assert fleet.queue is not None
        if kind == "embedded":
            from fleet.queue.embedded import integrity

            damage = integrity(fleet.tracker)
            if damage != "ok":
                yield Finding("queue", "error", damage, "Copy queue.db away, then .recover it.")
                return
        yield Finding("queue", "ok", kind)
    finally:
        fleet.close()


def _coder(home: Home) -> Iterator[Finding]:
    from fleet.control.coders import coders_here

    if not home.config.exists():
        return  # said already
    fleet = Control(home, config.load(home.config))
    for coder in coders_here(fleet):
        if coder.default:
            fix = (
                f"Install {coder.name}, or choose another (fleet coders): fleet config set coder=…"
            )
            text = f"{coder.name}: {coder.problem or coder.version or coder.remark}"
            severity: Severity = "warning" if coder.problem else "ok"
            yield Finding("coder", severity, text, fix if coder.problem else "")
            return
    yield Finding(
        "coder", "error", f"there is no coder {fleet.config.coder!r}", "See: fleet coders"
    )


def _held(home: Home) -> Iterator[Finding]:
    from fleet.supervisor.breaker import Breaker

    for held in Breaker(home.path).held():
        text = f"{held.name} gets no work since {held.since:%F %H:%M} UTC: {held.text}"
        yield Finding("held", "warning", text, f"Mend it, then: fleet resume --coder {held.coder}")


def _bd() -> Iterator[Finding]:
    from fleet.queue.beads.version import bd_version, warning

    version = bd_version()
    caution = warning(version)
    if caution:
        yield Finding("bd", "warning", caution, "Upgrade bd.")
    else:
        yield Finding("bd", "ok", f"bd {'.'.join(map(str, version or ()))}")
