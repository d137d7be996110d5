"""What the forge merged: proved by git, followed by the line of the branch, and then landed."""

from datetime import datetime, timedelta

from fleet.forge.pull_request import PullRequest
from fleet.git.commit_object import read_commit
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.landed_proof import prove_landed
from fleet.git.refs import is_ancestor
from fleet.git.remote.push import delete_branch
from fleet.home.landing_json import LandedAs, Landing
from fleet.landing.remote.follow_remote import catch_up
from fleet.landing.remote.remote_line import RemoteLine
from fleet.landing.train_state import TrainState
from fleet.landing.waiting_work import WaitingWork

_LATER = timedelta(seconds=30)
#: What a proof is called that only the forge's word stands for.
BY_FORGE = "forge"


class MergedWork:
    """Lands what was merged on the forge."""

    def __init__(self, at: TrainState, git: Git, line: RemoteLine) -> None:
        self._at, self._git, self._line = at, git, line

    def landed(self, work: WaitingWork, pr: PullRequest, commit: str) -> datetime | None:
        """The forge merged the pull request as this commit: have the line follow, and land the
        work.
        """
        if (why := self.catch_up(work)) or not self._holds(commit):
            words = why or f"the forge calls it merged as {commit[:12]}, which {pr.base} lacks"
            self._at.settler.ask(work, f"pull request #{pr.number} is merged, and {words}")
            return self._at.now() + _LATER
        proof = proof_of(self._git, work.landing.commit, commit, self._line.commit)
        self._at.settler.landed(work, self._receipt(work.landing, pr, commit, proof))
        if proof != BY_FORGE:
            # Left to people if it cannot be deleted now: the work is on the base.
            delete_branch(self._line.remote, ref=f"refs/heads/{pr.branch}", commit=pr.head)
        return None

    def catch_up(self, work: WaitingWork) -> str:
        """Have the line hold what the remote branch has; empty if done."""
        if (silent := self._line.read()) is not None:
            return f"{self._line.shown} gives no answer: {silent.why}"
        if not self._line.commit:
            return f"{self._line.shown} is gone"
        return catch_up(self._at, self._line.commit, [work])

    def _holds(self, commit: str) -> bool:
        return bool(commit) and is_ancestor(self._git, commit, self._line.commit)

    def _receipt(self, landing: Landing, pr: PullRequest, commit: str, proof: str) -> LandedAs:
        made = read_commit(self._git, commit)
        passed = [check.name for check in (pr.facts.checks if pr.facts else ())]
        return LandedAs(
            commit=commit,
            parents=made.parents,
            tree=made.tree,
            proof=proof,
            checks=(*landing.checks, *(f"{name} (on the forge)" for name in passed)),
            line_after=self._line.commit,
            at=self._at.now(),
            pushed=f"{self._line.shown} {self._line.commit}",
            pr=pr.page,
        )


def proof_of(git: Git, candidate: str, commit: str, tip: str) -> str:
    """What proves that a branch holds the candidate, which was merged as this commit: `ancestry`,
    `patch` for one that was squashed or rebased, or the forge's word alone.
    """
    try:
        return prove_landed(git, tip, candidate, commit) or BY_FORGE
    except GitFailed:
        return BY_FORGE
