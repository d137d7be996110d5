"""Whether agents can be put into a box here, tried for real, and whether they are."""

from collections.abc import Iterator

from fleet.config import Config
from fleet.doctor.check_result import CheckResult, Installation
from fleet.sandbox.try_box import try_box


def sandbox(installation: Installation) -> Iterator[CheckResult]:
    """Run a program in a box that has to write inside and to fail outside."""
    wanted = _wanted(installation.config) if installation.config else set[str]()
    trial = try_box(installation.env)
    if trial.works:
        yield CheckResult("sandbox", "ok", _works(wanted))
    elif wanted <= {"off"}:
        yield CheckResult("sandbox", "warning", f"no box: {trial.problem}", trial.fix)
    else:
        what = f"sandbox = {max(wanted - {'off'})}, and no box can be had: {trial.problem}"
        yield CheckResult("sandbox", "error", f"{what}; such tasks do not begin", trial.fix)


def _wanted(config: Config) -> set[str]:
    own = (project.settings.get("sandbox") for project in config.projects.values())
    return {config.sandbox, *(str(level) for level in own if level)}


def _works(wanted: set[str]) -> str:
    tried = "a program in a box wrote inside and could not write or read outside"
    used = ", ".join(sorted(wanted))
    return f"{tried}; sandbox = {used}" if used else tried
