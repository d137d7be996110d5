"""A verify command for a project that has none: named by the files there, and tried on the commit
that work begins at.

`proposed.json` in the home remembers the projects that a person was asked about, and those that a
command was tried for.
"""

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from fleet.control import Control
from fleet.errors import FleetError
from fleet.evidence.base_check import BaseCase, base_case, ending_words, known_trials, try_base
from fleet.evidence.propose_verify import Proposal, propose
from fleet.evidence.tried_commands import Trial
from fleet.files.json_record import JsonRecord
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.refs import commit_of
from fleet.home.task_policy import policy_of
from fleet.schemas import Policy, Settings
from fleet.schemas.shown_text import counted

PROPOSED = "proposed.json"
_PROPOSED = JsonRecord(list[str])
#: Seconds that a person waits for a command, and for its end after that.
PATIENCE = 2.0
_ENDING = 3.0
_GIT_LIMIT = 10.0

ProposalStep = Literal["asked", "tried"]


class TriedProposal(Struct, frozen=True, kw_only=True):
    """A proposal, and how the command ended on the commit that work begins at."""

    proposal: Proposal
    #: None: it was not tried, or did not end in time.
    passed: bool | None = None
    #: In words, for people.
    said: str = "not tried"


def verify_proposal(cwd: str) -> Proposal | None:
    """A verify command for the tasks of a directory; None if no file there names one."""
    return propose(Path(cwd))


def is_first(fleet: Control, what: ProposalStep, cwd: str) -> bool:
    """Whether this was never done for a project; from now on the answer is no."""
    path = fleet.home.path / PROPOSED
    done = _PROPOSED.read_or_none(path) or []
    mark = cwd if what == "asked" else f"{what} {cwd}"
    if mark in done:
        return False
    _PROPOSED.write(path, [*done, mark], durable=False)
    return True


def tried(
    fleet: Control, settings: Settings, proposal: Proposal, *, agreed: bool = False
) -> TriedProposal:
    """The proposal, and how the command ends on the base within `PATIENCE`.

    The command is the project's: it runs only in a box, or if a person agreed to it, and once a
    project. Work in the directory itself has no base to try it on.
    """
    policy = _policy_with(fleet, settings, proposal)
    untried = TriedProposal(proposal=proposal)
    cwd = settings.cwd or ""
    try:
        case = _case(fleet, cwd, policy) if policy.work_in == "clone" else None
        if case is None:
            return untried
        trials = known_trials(case)
        may_run = agreed or (policy.sandbox.level != "off" and is_first(fleet, "tried", cwd))
        if trials is None and may_run:
            trials = _within(case)
            untried = structs.replace(untried, said=f"not done within {PATIENCE:g} s")
    except (FleetError, OSError):
        return untried
    if trials is None:
        return untried
    failed = next((each.check for each in trials if not each.check.passed), None)
    if failed is not None:
        said = f"fails on {case.name}: {ending_words(failed)}"
        return TriedProposal(proposal=proposal, passed=False, said=said)
    tests = trials[-1].check.tests
    count = f", {counted(tests.executed, 'test')}" if tests is not None else ""
    return TriedProposal(proposal=proposal, passed=True, said=f"passes on {case.name}{count}")


def _policy_with(fleet: Control, settings: Settings, proposal: Proposal) -> Policy:
    """What runs would be held to with the proposed command."""
    policy = policy_of(fleet.config, settings, settings.cwd or "/").policy
    share = tuple(dict.fromkeys((*policy.copies.share, *proposal.share)))
    copies = structs.replace(policy.copies, share=share)
    return structs.replace(policy, verify=(proposal.command,), copies=copies)


def _case(fleet: Control, cwd: str, policy: Policy) -> BaseCase | None:
    """The command on the commit that is checked out; None: there is none. Raises FleetError."""
    repo = repository.find(cwd)
    if repo is None:
        return None
    commit = commit_of(Git(repo, time.monotonic() + _GIT_LIMIT), "HEAD^{commit}")
    if not commit:
        return None
    name = repository.checked_out_branch(repo)
    return base_case(fleet.home, repo, commit, policy, cwd=cwd, name=name)


def _within(case: BaseCase) -> tuple[Trial, ...] | None:
    """What the commands of a case come to; None: they did not end in time, and were ended."""
    abandon, found = threading.Event(), list[tuple[Trial, ...] | None]()

    def run() -> None:
        with suppress(FleetError, OSError):
            found.append(try_base(case, abandon))

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(PATIENCE)
    abandon.set()
    worker.join(_ENDING)
    return found[0] if found else None
