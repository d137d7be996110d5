"""The clone of a task whose work could not land: the merge that the agent is to finish is begun.

What is meant is written into `landing.json` before it is done, so that a supervisor which is killed
in between is followed by one that does the same again; once the clone holds the merge it is the
agent's, whatever becomes of its runs.
"""

import io
import time

from msgspec import structs

from fleet.errors import FleetError
from fleet.git.clone.task_refs import TaskRefs, task_refs
from fleet.git.git_command import Git, GitFailed
from fleet.git.land.begin_merge import begin_merge, plan_merge
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.target import read_target
from fleet.git.repository import shown
from fleet.git.tree_difference import PATCH, changed_names
from fleet.home import Home, landing_json
from fleet.home.landing_json import Landing
from fleet.runs import receipt_json
from fleet.runs.run_directory import Run
from fleet.schemas import BegunMerge
from fleet.settlement.sent_back import sent_back_words

_LIMIT = 120.0
#: Bytes of what others landed that an agent is told.
_HUNKS = 12_000
_CUT = "\n[the rest is cut: git diff shows it]\n"


def sent_back_clone(home: Home, task_id: str) -> tuple[BegunMerge, str] | None:
    """Begin the merge in the clone of a task that was sent back: the merge, and what its agent is
    told of it. None: the task was not sent back.

    Raises FleetError.
    """
    landing = landing_json.believed(home, task_id)
    refs = task_refs(home, task_id) if landing is not None and landing.is_back else None
    if landing is None or refs is None:
        return None
    if landing.state == "asks":
        landing = _begun_again(home, task_id)
    merge = landing.merge
    if merge is None:
        merge = _noted(home, task_id, _plan(home, refs, landing))
    if not merge.ready:
        begun = begin_merge(home, refs, merge, into=landing.into, title=landing.title)
        merge = _noted(home, task_id, begun)
    files, hunks = _landed_since(refs.git, merge)
    return merge, sent_back_words(landing, merge, hunks=hunks, landed=files)


def _landed_since(git: Git, merge: BegunMerge) -> tuple[tuple[str, ...], str]:
    """The files that others changed on the line since the task's work began, and the diff of those
    that conflict. Empty if git cannot tell: the agent finds both sides in its clone.
    """
    out, whole = io.BytesIO(), True
    try:
        base = git.line("merge-base", merge.own, merge.line)
        names = tuple(map(shown, changed_names(git, base, merge.line)))
        if merge.files:
            whole = git.write(out, _HUNKS, *PATCH, base, merge.line, "--", *merge.files)
    except GitFailed:
        return (), ""
    text = out.getvalue().decode(errors="replace")
    return names, text if whole else text.rpartition("\n")[0] + _CUT


def _plan(home: Home, refs: TaskRefs, landing: Landing) -> BegunMerge:
    land = LandRepository(home.path, refs.git.repo, time.monotonic() + _LIMIT)
    line = read_target(land, landing.into).line
    if not line:
        raise FleetError(
            f"the branch {landing.into} that its work is to land on is gone from"
            f" {landing.repository}",
            hint=f"Make it again, or take the work by hand: it is on {refs.branch}.",
        )
    receipt = receipt_json.read(Run(home.task(refs.task_id) / "runs" / str(landing.run)))
    left = receipt.changes.tree if receipt is not None and receipt.changes is not None else ""
    return plan_merge(
        home, refs, candidate=landing.commit, left=left, base=landing.starts_from, line=line,
        title=landing.title,
    )  # fmt: skip


def _begun_again(home: Home, task_id: str) -> Landing:
    """Count tries anew: a person was asked, and opened the task again."""

    def begun(landing: Landing) -> Landing | None:
        if not landing.is_back:
            return None
        return structs.replace(landing, state="back", tries=0, refusals=0)

    landing = landing_json.change(home, task_id, begun)
    if landing is None:
        raise FleetError("its landing was changed meanwhile")
    return landing


def _noted(home: Home, task_id: str, merge: BegunMerge) -> BegunMerge:
    """Write down the merge that is planned, or was made. Raises FleetError if it is not wanted."""

    def noted(landing: Landing) -> Landing | None:
        if landing.state != "back":
            return None
        # A merge that is planned anew has no claim against it yet.
        refusals = landing.refusals if landing.merge is not None else 0
        return structs.replace(landing, merge=merge, refusals=refusals)

    if landing_json.change(home, task_id, noted) is None:
        raise FleetError("its landing was changed meanwhile")
    return merge
