"""Whether the project here has a verify command, and one to propose."""

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from fleet.doctor.check_result import CheckResult, Installation
from fleet.evidence.propose_verify import propose


def verify(installation: Installation) -> Iterator[CheckResult]:
    """Nothing is said in a directory whose files name no tests."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return
    proposal = propose(here)
    if installation.config is None or proposal is None:
        return
    known = installation.config.project(str(here)).verify
    if known:
        yield CheckResult("verify", "ok", f"tasks here are checked with: {'; '.join(known)}")
        return
    what = "no verify command for tasks here: fleet can only say that they are plausible"
    command = quote(f"verify={proposal.command}")
    fix = f"By its {proposal.found_in}: fleet config set --project . {command}"
    yield CheckResult("verify", "ok", what, fix)
