"""What the forge merged: proved by git, followed by the line of the branch, and then landed."""

from datetime import datetime, timedelta

from fleet.forge.pull_request_json import PullRequest
from fleet.git.commit_object import read_commit
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.landed_proof import prove_landed
from fleet.git.refs import is_ancestor
from fleet.git.remote.push import delete_branch
from fleet.home.landing_json import LandedAs
from fleet.landing.remote.remote_line import RemoteLine, catch_up
from fleet.landing.train_state import TrainState
from fleet.landing.waiting_work import WaitingWork

_LATER = timedelta(seconds=30)
#: What a proof is called that only the forge's word stands for.
BY_FORGE = "forge"


def land_merged(
    at: TrainState, git: Git, line: RemoteLine, work: WaitingWork, pr: PullRequest, commit: str
) -> datetime | None:
    """The forge merged the pull request as this commit: have the line follow, and land the work.
    Returns when to look again; None: the work has landed.
    """
    why = catch_up_with(at, line, work)
    if why or not (commit and is_ancestor(git, commit, line.commit)):
        words = why or f"the forge calls it merged as {commit[:12]}, which {pr.base} lacks"
        at.settler.ask(work, f"pull request #{pr.number} is merged, and {words}")
        return at.now() + _LATER
    proof = proof_of(git, work.landing.commit, commit, line.commit)
    made = read_commit(git, commit)
    passed = [check.name for check in (pr.facts.checks if pr.facts else ())]
    landed = LandedAs(
        commit=commit,
        parents=made.parents,
        tree=made.tree,
        proof=proof,
        checks=(*work.landing.checks, *(f"{name} (on the forge)" for name in passed)),
        line_after=line.commit,
        at=at.now(),
        pushed=f"{line.shown} {line.commit}",
        pr=pr.page,
    )
    at.settler.landed(work, landed)
    if proof != BY_FORGE:
        # Left to people if it cannot be deleted now: the work is on the base.
        delete_branch(line.remote, ref=f"refs/heads/{pr.branch}", commit=pr.head)
    return None


def catch_up_with(at: TrainState, line: RemoteLine, work: WaitingWork) -> str:
    """Have the line hold what the remote branch has by now; empty if done, else why not."""
    if (silent := line.read()) is not None:
        return f"{line.shown} gives no answer: {silent.why}"
    if not line.commit:
        return f"{line.shown} is gone"
    return catch_up(at, line.commit, [work])


def proof_of(git: Git, candidate: str, commit: str, tip: str) -> str:
    """What proves that a branch holds the candidate, which was merged as this commit: `ancestry`,
    `patch` for one that was squashed or rebased, or the forge's word alone.
    """
    try:
        return prove_landed(git, tip, candidate, commit) or BY_FORGE
    except GitFailed:
        return BY_FORGE
