"""The queue: whether the queue is the home's own, whole and copied, and which bd there is."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from fleet.control.queue.queue_care import QueueCondition, condition, file_of
from fleet.doctor.check_result import CheckResult, Installation
from fleet.queue import backups

#: How long bd may take to tell its version.
_BD_ANSWERS = timedelta(seconds=10)


def queue(installation: Installation) -> Iterator[CheckResult]:
    if installation.config is None:
        return
    home, config = installation.home, installation.config
    if config.queue == "beads":
        yield from _bd(home.path)
    seen = condition(home, config)
    if seen.problem:
        yield CheckResult("queue", "error", seen.problem, seen.hint)
        return
    name = file_of(config)
    if name is not None and (damage := backups.damage_of(home.path / backups.FILES[name])):
        yield CheckResult("queue", "error", damage, "Put a copy back: fleet queue restore")
        return
    yield CheckResult("queue", "ok", f"{seen.kind}, {seen.identity[:8]}")
    if seen.missing:
        ids = ", ".join(each.id for each in seen.missing)
        what = f"tasks of this home are not in the queue, which was set back: {ids}"
        yield CheckResult("queue", "warning", what, "What is known of them: fleet queue status")
    if name is None:
        yield CheckResult("backup", "ok", seen.backup)
    elif not seen.copies:
        # A home that no supervisor has run for has nothing to lose yet.
        text = "no copy of the queue yet: the supervisor makes one a day"
        yield CheckResult("backup", "ok", f"{text} (at once: fleet queue backup)")
    else:
        yield _age(seen, installation.now)


def _age(seen: QueueCondition, now: datetime) -> CheckResult:
    newest = seen.copies[0]
    old = now - newest.at
    what = f"the newest copy of the queue is {old.days} d {old.seconds // 3600} h old"
    if old > 2 * backups.EVERY:
        fix = "The supervisor makes one a day while it runs. At once: fleet queue backup"
        return CheckResult("backup", "warning", what, fix)
    return CheckResult("backup", "ok", what)


def _bd(home: Path) -> Iterator[CheckResult]:
    from fleet.queue.beads.bd_cli.bd_client import GUARDED_UPDATES, BdClient, version_warning

    version = BdClient(home, timeout=_BD_ANSWERS).version
    caution = version_warning(version)
    name = ".".join(map(str, version or ()))
    if caution:
        yield CheckResult("bd", "warning", caution, "Upgrade bd.")
    elif version is not None and version < GUARDED_UPDATES:
        what = f"bd {name} cannot guard a claim against another's: fleet re-reads each one instead"
        yield CheckResult("bd", "warning", what, "Upgrade to 1.3 or later.")
    else:
        yield CheckResult("bd", "ok", f"bd {name}")
