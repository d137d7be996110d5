"""Adds tasks: everything that a task is stands in the one `bd create` that makes the task.

So a task can never be claimed before its directory and its dependencies are known, even if
fleet is killed the moment bd has committed. What bd only warns about is checked before and after.
"""

from fleet.errors import BadInput, FleetError, NotFound, QueueError, Refused
from fleet.queue.beads.bd_cli.bd_calls import Tracker
from fleet.queue.beads.claim_tasks import with_entry
from fleet.queue.beads.lease_ledger import Ledger
from fleet.queue.protocol import Draft
from fleet.queue.sql.sql_queue import TITLE_LIMIT, check
from fleet.schemas import Edge, Task, check_id


def add_task(tracker: Tracker, ledger: Ledger, draft: Draft) -> Task:
    """Make the task of a draft. The caller holds the write lock."""
    check(draft)
    if len(draft.title.encode()) > TITLE_LIMIT:
        raise BadInput(f"title must be {TITLE_LIMIT} bytes or less, as bd counts it")
    _check_links(tracker, draft)
    issue, complaint = tracker.create(draft)
    if _links(draft):
        issue = _verified(tracker, issue.id, draft, complaint)
    ledger.added(issue.id)
    return with_entry(issue, ledger.entry(issue.id))


def _check_links(tracker: Tracker, draft: Draft) -> None:
    """Look before: bd makes the task even if a link fails, and 1.0 overwrites a taken id."""
    links = [check_id(link) for link in _links(draft)]
    own = [] if draft.id is None else [check_id(draft.id)]
    if draft.id in links:
        raise Refused(f"cannot add self-dependency: {draft.id} cannot depend on itself")
    if not links and not own:
        return
    known = tracker.show([*links, *own])
    for link in links:
        if link not in known:
            raise NotFound(f'no issue found matching "{link}"')
    if draft.id in known:
        raise Refused(f"issue {draft.id} already exists")


def _verified(tracker: Tracker, task_id: str, draft: Draft, complaint: str) -> Task:
    """The task with all links, or no task at all."""
    shown, there = tracker.show_with_edges([task_id, *draft.blocks])
    wanted = {Edge(task_id, target, kind) for kind, target in draft.depends_on}
    wanted |= {Edge(waiting, task_id, "blocks") for waiting in draft.blocks}
    if draft.parent is not None:
        wanted.add(Edge(task_id, draft.parent, "parent-child"))
    if task_id in shown and wanted <= there:
        return shown[task_id]
    _undo(tracker, task_id)
    missing = sorted(wanted - there)
    links = ", ".join(f"{e.task_id} -> {e.depends_on_id} ({e.type})" for e in missing)
    raise Refused(
        complaint or f"bd did not keep the dependency {links}",
        hint=f"The task was not made. Missing: {links}",
    )


def _undo(tracker: Tracker, task_id: str) -> None:
    try:
        tracker.delete(task_id)
    except NotFound:
        return
    except FleetError as error:
        raise QueueError(
            f"{task_id} was made without all its dependencies and cannot be removed:"
            f" {error.message}",
            hint=f"Remove it with: fleet bd delete {task_id} --force",
        ) from error


def _links(draft: Draft) -> list[str]:
    parent = [] if draft.parent is None else [draft.parent]
    return [*parent, *(target for _, target in draft.depends_on), *draft.blocks]
