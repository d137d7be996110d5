"""What a train says to agents and people, and the receipt of a landing."""

from collections.abc import Sequence
from datetime import datetime

from fleet.git.land.landed_proof import LandedProof
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.target import Target
from fleet.home.landing_json import LandedAs, LandedWork
from fleet.landing.settle_landing import Unlandable
from fleet.landing.train_store import Member, Train
from fleet.schemas.shown_text import some

_FEW = 5
#: What a proof is called that only the train's own record stands for.
BY_TRAIN = "train"
#: Why a branch is behind its line, as long as no lander has looked.
KILLED = "its lander was killed"


def conflicting(found: TreeConflict, branch: str, against: tuple[LandedWork, ...]) -> Unlandable:
    """A candidate that the line contradicts."""
    files = some(found.files, _FEW) or found.text.strip().partition("\n")[0]
    since = (
        f" (since then {some([each.task_id for each in against], _FEW)} landed)" if against else ""
    )
    return Unlandable(
        why="conflict",
        words=f"it conflicts with {branch} in {files}{since}",
        conflict=found.files,
        output=found.text,
        against=against,
    )


def failing(output: str, branch: str, against: tuple[LandedWork, ...]) -> Unlandable:
    """A candidate that passed alone fails on the line."""
    command = output.partition("\n")[0].removeprefix("$ ")
    return Unlandable(
        why="verify",
        words=f"`{command}` fails once merged with {branch}",
        output=output,
        against=against,
    )


def line_fails(branch: str, command: str, line: str, task_id: str) -> str:
    """The line fails without the candidate, which is not to blame."""
    return (
        f"{_line_fails(branch, command, line)}: mend {branch}, or the command in the settings, and"
        f" then: fleet land {task_id}"
    )


def waits_for_line(branch: str, command: str, line: str, task_ids: Sequence[str]) -> str:
    """The line fails without any candidate: told once for all the tasks that wait."""
    return (
        f"{_line_fails(branch, command, line)}: mend {branch}. Until it moves, this waits:"
        f" {some(task_ids, _FEW)}"
    )


def _line_fails(branch: str, command: str, line: str) -> str:
    return f"{branch} itself fails `{command}` (commit {line[:12]})"


def takes_turns(holder: str) -> str:
    """Why a candidate waits for a task that was sent back."""
    return f"{holder} was sent back and changes the same files: it lands first"


def no_branch(branch: str, repository: str) -> str:
    return (
        f"{repository} has no branch {branch} with a commit any more. Make it again (git branch"
        f" {branch} COMMIT), or name another one (fleet config set --project {repository}"
        " land_into=BRANCH), and then: fleet land ID"
    )


def beside_conflicts(found: TreeConflict, branch: str, repository: str) -> str:
    """A person moved the branch beside what had landed, and the two cannot be merged."""
    return (
        f"{branch} was moved beside what is to land, and both conflict in"
        f" {some(found.files, _FEW) or 'their history'}. Merge by hand: git -C {repository} merge"
        f" refs/fleet/land/{branch}"
    )


def beside_fails(target: Target, command: str, repository: str) -> str:
    """A person moved the branch beside what had landed, and both fail together."""
    return (
        f"{target.branch} was moved to {target.tip[:12]}, beside what is to land"
        f" ({target.line[:12]}), and together they fail `{command}`. Merge by hand, and mend it:"
        f" git -C {repository} merge refs/fleet/land/{target.branch}"
    )


def unverifiable(trouble: str, task_id: str) -> str:
    """The commands could not be run on the fold at all."""
    return f"it cannot be verified: {trouble}; mend that, and then: fleet land {task_id}"


def remote_conflicts(found: TreeConflict, branch: str, repository: str) -> str:
    """The branch and the remote have both moved, and cannot be merged."""
    return (
        f"{branch} and its remote conflict in {some(found.files, _FEW) or 'their history'}. Merge"
        f" by hand: git -C {repository} pull, and then: fleet land ID"
    )


def remote_fails(branch: str, repository: str) -> str:
    """The branch and the remote have both moved, and fail together."""
    return (
        f"{branch} and its remote do not pass the checks together. Merge them by hand: git -C"
        f" {repository} pull, mend it, and then: fleet land ID"
    )


def gone(upstream: str) -> str:
    """A remote branch that was there, and is not any more."""
    return f"{upstream} was deleted. Push it again, and then: fleet land ID"


def silent(upstream: str, why: str) -> str:
    """A remote that gave no answer; what waits is tried again."""
    return f"{upstream} gives no answer, so nothing is pushed for now: {why}"


def refused(upstream: str, why: str) -> str:
    """A remote that says no."""
    return f"{upstream} refuses the push: {why}. Once it takes it: fleet land ID"


def reflog(task_ids: Sequence[str]) -> str:
    """What the log of the branch says of a move."""
    return f"fleet: land {' '.join(task_ids)}"


def receipt(train: Train, member: Member, proof: LandedProof, now: datetime) -> LandedAs:
    """What was landed of one task, and what proves that the line holds the work."""
    return LandedAs(
        commit=member.commit,
        parents=member.parents,
        tree=member.tree,
        proof=proof or BY_TRAIN,
        checks=train.checks,
        line_before=train.old,
        line_after=train.new,
        at=now,
        pushed=f"{train.upstream} {train.new}" if train.upstream else "",
    )
