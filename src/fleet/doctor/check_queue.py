"""The queue: whether it opens, whether it is whole, and which bd there is."""

from collections.abc import Iterator

from fleet.control import Control
from fleet.doctor.check_result import CheckResult, Installation


def queue(installation: Installation) -> Iterator[CheckResult]:
    if installation.config is None:
        return
    fleet = Control(installation.home, installation.config)
    try:
        kind = fleet.config.queue.partition(":")[0]
        if kind == "beads":
            yield from _bd()
        assert fleet.queue is not None
        if kind == "embedded":
            from fleet.queue.sql.sqlite import integrity

            damage = integrity(fleet.tracker)
            if damage != "ok":
                yield CheckResult("queue", "error", damage, "Copy queue.db away, then .recover it.")
                return
        yield CheckResult("queue", "ok", kind)
    finally:
        fleet.close()


def _bd() -> Iterator[CheckResult]:
    from fleet.queue.beads.bd_cli.bd_version import GUARDED_UPDATES, bd_version, warning

    version = bd_version()
    caution = warning(version)
    name = ".".join(map(str, version or ()))
    if caution:
        yield CheckResult("bd", "warning", caution, "Upgrade bd.")
    elif version is not None and version < GUARDED_UPDATES:
        what = f"bd {name} cannot guard a claim against another's: fleet re-reads each one instead"
        yield CheckResult("bd", "warning", what, "Upgrade to 1.3 or later.")
    else:
        yield CheckResult("bd", "ok", f"bd {name}")
