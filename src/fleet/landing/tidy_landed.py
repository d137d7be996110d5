"""Clears away what a landed task left: the clone, and the branch once proved landed.

`refs/fleet/<id>/landed` holds the candidate for as long as the task's snapshots are kept.
"""

import time
from datetime import timedelta

from fleet.files.file_lock import run_locked
from fleet.git.clone import clone_place
from fleet.git.clone.collect_work import ClonedWork, cloned_work
from fleet.git.clone.task_refs import RefMove, TaskRefs, task_refs
from fleet.git.clone.task_work import remove_clone, why_kept
from fleet.git.commit_words import message_of
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.landed_proof import prove_landed
from fleet.git.land.target import read_target
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.snapshot_names import ref_of
from fleet.git.tree_difference import changed_names
from fleet.home import Home
from fleet.home.landing_json import Landing

_LIMIT = 120.0


def tidy_landed(home: Home, task_id: str, landing: Landing, age: timedelta) -> list[str]:
    """Remove the clone and the branch of a task whose work the line holds; sentences on what was
    done. Nothing is removed that is nowhere else; `age`: the time since the task was closed. Raises
    FleetError and OSError.
    """
    with run_locked(home.task(task_id)) as lock:
        refs = task_refs(home, task_id) if lock is not None else None
        if refs is None:
            return []
        if not _is_on_line(home, refs, landing):
            return []  # the branch was set back since: its work stays on fleet/<id>
        reports: list[str] = []
        if clone_place.is_there(home, task_id):
            work = cloned_work(home, refs)
            work.take_snapshot()
            if not work.beyond and work.tree != landing.tree:
                reports += _keep_rest(work, landing, task_id)
            stays, waits = why_kept(work, age), not work.beyond
            had_branch = refs.branch_now().commit
            reports += _drop_branch(refs, landing)
            if stays:
                clone_place.note_size(home, task_id)
                if waits and not had_branch:  # said as the branch went, maybe by another supervisor
                    return reports
                place = home.clone(task_id)
                return [*reports, f"{task_id}: its clone stays at {place}: it holds {stays}"]
            remove_clone(home, refs)
            return reports
        return _drop_branch(refs, landing)


def _keep_rest(work: ClonedWork, landing: Landing, task_id: str) -> list[str]:
    """Bring what the clone holds beside the verified tree to the task's branch, which stays. Where
    the candidate was made of it, as with pinned files that its agent changed, nothing is to do.
    """
    count = len(changed_names(work.git, landing.tree, work.tree))
    title = f"Not as it was verified: {landing.title}"
    commit = work.committed(message_of(title, task_id))
    if is_ancestor(work.git, commit, landing.commit):
        return []
    ref = work.bring(commit).ref
    files = (
        "1 file that is not as it was" if count == 1 else f"{count} files that are not as they were"
    )
    return [f"{task_id}: {files} verified: on {ref}"]


def _is_on_line(home: Home, refs: TaskRefs, landing: Landing) -> bool:
    landed = landing.landed
    land = LandRepository(home.path, refs.git.repo, time.monotonic() + _LIMIT)
    line = read_target(land, landing.into).line
    if landed is None or not line:
        return False
    return bool(prove_landed(land.git, line, landing.commit, landed.commit))


def _drop_branch(refs: TaskRefs, landing: Landing) -> list[str]:
    """Delete the task's branch, if there is nothing on the branch but what landed."""
    now = refs.branch_now()
    if not now.commit or now.checked_out or not is_ancestor(refs.git, now.commit, landing.commit):
        return []
    kept = ref_of(f"{refs.task_id}/landed")
    refs.move([RefMove(ref=kept, new=landing.commit, old=commit_of(refs.git, kept))])
    refs.git.ask("update-ref", "--no-deref", "-d", refs.branch_ref, now.commit)
    return [f"{refs.task_id}: {refs.branch} is deleted, its work is on {landing.into}"]
