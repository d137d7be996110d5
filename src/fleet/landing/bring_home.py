"""From accepted work to a candidate: the tree that a run verified becomes a commit in the project.

The candidate has exactly that tree, whatever became of the clone since. A person is asked first
where the settings say so by then, or where the work touches what is protected.
"""

import time
from datetime import datetime

from msgspec import structs

from fleet.errors import FleetError
from fleet.files.file_lock import run_locked
from fleet.forge import pull_request_json
from fleet.git import repository
from fleet.git.clone.task_refs import task_refs
from fleet.git.clone.task_work import brought_commit
from fleet.git.git_command import Git
from fleet.git.refs import commit_of, merge_base
from fleet.git.repository import shown
from fleet.git.tree_difference import changed_names
from fleet.home import Home, clone_record, landing_json
from fleet.home.landing_json import Landing
from fleet.landing.fold.fold_checks import protected_paths
from fleet.landing.waiting_work import WaitingWork
from fleet.schemas.shown_text import some

_FEW = 5
#: Seconds for the git commands of one question.
_LIMIT = 30.0


def bring_home(home: Home, work: WaitingWork, now: datetime) -> Landing | None:
    """Make the candidate of accepted work, and have the task wait or ask.

    None: a run of the task is at work, or another process changed its landing. Raises FleetError
    and OSError if the work cannot be had.
    """
    landing = work.landing
    with run_locked(home.task(work.task_id)) as lock:
        if lock is None:
            return None
        commit, touched = _candidate(home, work)
    why = why_asked(work, touched)

    def brought(found: Landing) -> Landing | None:
        if found.state != "waiting" or found.commit or found.tree != landing.tree:
            return None
        state = "asks" if why and not found.approved_by else "waiting"
        reason = why if state == "asks" else ""
        return structs.replace(found, state=state, why=reason, commit=commit, at=now)

    return landing_json.change(home, work.task_id, brought)


def by_settings(home: Home, work: WaitingWork) -> WaitingWork:
    """The work with the settings in force: how it lands, and where to. What has a pull request
    stays with it.
    """
    how, to = work.rules.how, work.rules.to
    if work.landing.to == "pr" and pull_request_json.read(home, work.task_id) is not None:
        to = "pr"
    if (how, to) == (work.landing.how, work.landing.to):
        return work

    def with_address(found: Landing) -> Landing | None:
        return structs.replace(found, how=how, to=to) if found.state == work.landing.state else None

    now = landing_json.change(home, work.task_id, with_address)
    return structs.replace(work, landing=now) if now is not None else work


def why_waiting_asks(work: WaitingWork) -> str:
    """Why a person has to be asked before work lands that was brought home before; empty: the work
    may land. Raises GitFailed.
    """
    if work.landing.approved_by:
        return ""
    repo = repository.find(work.landing.repository)
    if repo is None or not work.rules.protect:
        return why_asked(work, ())
    git = Git(repo, time.monotonic() + _LIMIT)
    return why_asked(work, _protected(git, work, work.landing.commit))


def why_asked(work: WaitingWork, touched: tuple[str, ...]) -> str:
    """Why a person has to be asked before this work lands; empty: the work may land. Pure."""
    if not work.landing.into:
        return (
            "no branch was checked out when it was made; its work is on"
            f" {clone_record.branch_of(work.task_id)}. Name one (fleet config set --project DIR"
            f" land_into=BRANCH), and then: fleet land {work.task_id}"
        )
    if touched:
        return f"it changes what is protected: {some(touched, _FEW)}"
    if work.landing.asks and work.landing.to != "pr":
        return "; ".join(work.landing.asks)
    if not work.rules.lands:
        return "land = branch now"
    # A pull request is opened to be looked at; a person merges it, or approves it here.
    asked = work.rules.mode == "ask" and work.landing.to != "pr"
    return "land = ask" if asked else ""


def _candidate(home: Home, work: WaitingWork) -> tuple[str, tuple[str, ...]]:
    """The candidate, now in the project, and the protected paths that the candidate changes."""
    refs = task_refs(home, work.task_id)
    if refs is None:
        raise FleetError(f"{work.landing.repository} is no repository any more")
    commit = brought_commit(home, refs, title=work.landing.title, tree=work.landing.tree)
    if not commit:
        raise FleetError(f"its clone is gone, and {refs.branch} does not hold what was verified")
    return commit, _protected(refs.git, work, commit)


def _protected(git: Git, work: WaitingWork, commit: str) -> tuple[str, ...]:
    """The protected paths that differ from what the work has in common with the branch."""
    landing = work.landing
    if not work.rules.protect:
        return ()
    tip = commit_of(git, f"refs/heads/{landing.into}")
    since = (merge_base(git, tip, commit) if tip else "") or landing.base
    paths = map(shown, changed_names(git, since, landing.tree))
    return protected_paths(work.plan.policy, landing.repository, paths)
