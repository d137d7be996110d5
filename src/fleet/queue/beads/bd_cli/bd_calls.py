"""The few things that fleet asks of bd, each as one call with flags. No lock, no ledger."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from fleet.errors import BadInput, NotFound, QueueUnavailable
from fleet.queue.beads.bd_cli import bd_output
from fleet.queue.beads.bd_cli.bd_client import FLEET, BdClient
from fleet.queue.beads.bd_cli.bd_issue import (
    LONG,
    comma_separated,
    comments_in,
    create_args,
    edges_in,
    long_texts,
    rows_in,
    tasks_in,
)
from fleet.queue.protocol import Draft
from fleet.schemas import Comment, Edge, Task, check_id

#: Ids in one call; a command line is not endless.
_MANY = 200


class Tracker:
    """bd in fleet's words."""

    def __init__(self, client: BdClient) -> None:
        self.client = client

    def create(self, draft: Draft) -> tuple[Task, str]:
        """The new issue, and bd's complaints about it."""
        variables = {"GIT_AUTHOR_EMAIL": draft.owner} if draft.owner else {}
        with TemporaryDirectory(prefix="fleet-") as scratch:
            verb, *args = create_args(draft, Path(scratch))
            ended = self.client.call(
                [verb, "--json", *args], actor=draft.created_by or FLEET, variables=variables
            )
        if ended.code != 0:
            raise bd_output.failure(ended, verb)
        return _only(bd_output.payload(ended, verb)), bd_output.complaint(ended)

    def show(self, ids: Iterable[str]) -> dict[str, Task]:
        """These tasks by whole id; an unknown one is missing from the answer."""
        return self.show_with_edges(ids)[0]

    def show_with_edges(self, ids: Iterable[str]) -> tuple[dict[str, Task], set[Edge]]:
        """These tasks, and what they depend on."""
        wanted = [task_id for task_id in dict.fromkeys(ids) if is_id(task_id)]
        if len(wanted) == 1:
            found = self._show(wanted[0])
        else:  # `bd show` takes as long for each id as for the first; a list does not
            parts = [wanted[start : start + _MANY] for start in range(0, len(wanted), _MANY)]
            found = [row for part in parts for row in self._list(f"--id={','.join(part)}")]
        # bd also answers to a part of an id; we never mean that.
        rows = [row for row in found if row.get("id") in wanted]
        return {task.id: task for task in tasks_in(rows)}, edges_in(rows)

    def _show(self, task_id: str) -> list[dict[str, Any]]:
        try:
            return rows_in(self.client.ask(["show", "--", task_id]))
        except NotFound:
            return []

    def _list(self, *flags: str) -> list[dict[str, Any]]:
        hidden = ("--include-gates", "--include-infra", "--include-templates")
        return rows_in(self.client.ask(["list", "--limit=0", "--all", *hidden, *flags]))

    def ready(self) -> list[Task]:
        return tasks_in(self.client.ask(["ready", "--limit=0", "--sort=priority"]))

    def listed(self, *statuses: str) -> list[Task]:
        """All issues of these statuses, of every status if none is named."""
        if not statuses:
            return tasks_in(self._list())
        return tasks_in(self.client.ask(["list", "--limit=0", f"--status={','.join(statuses)}"]))

    def edges(self) -> set[Edge]:
        """What every issue depends on."""
        return edges_in(self._list())

    def comments(self, task_id: str) -> list[Comment]:
        """What was said about an issue, oldest first."""
        return comments_in(self.client.ask(["comments", "--", task_id]))

    def blocked(self) -> set[str]:
        """The ids of what waits for another issue."""
        return {issue.id for issue in tasks_in(self.client.ask(["blocked"]))}

    def claim(self, ids: Sequence[str], owner: str, *, assignee: str) -> None:
        """Make `owner` the holder of open issues that are assigned to `assignee`."""
        if self.client.guards:
            # bd's own claim stamps a five-minute lease, after which any `bd reclaim` would
            # take the task from a live run. The guarded update is as exclusive and has none.
            flags = [
                "--status=in_progress",
                f"--assignee={owner}",
                "--if-status=open",
                f"--if-assignee={assignee}",
            ]
        else:
            flags = ["--claim"]
        self.client.ask(["update", *flags, "--", *ids], actor=owner)

    def hand_over(self, ids: Sequence[str], *, holder: str, owner: str) -> None:
        """Give issues in progress to `owner`, in the name of the holder: bd heeds no one else."""
        flags = ["--status=in_progress", f"--assignee={owner}"]
        if self.client.guards:
            flags += ["--if-status=in_progress", f"--if-assignee={holder}"]
        self.client.ask(["update", *flags, "--", *ids], actor=holder)

    def close(self, task_id: str, owner: str, reason: str) -> None:
        self.client.ask(["close", f"--reason={reason}", "--", task_id], actor=owner)

    def put(self, task_id: str, owner: str, status: str, note: str) -> None:
        """Set the status, clear the assignee, and add a note."""
        flags = [f"--status={status}", "--assignee="]
        if note:
            flags.append(f"--append-notes={note}")
        self.client.ask(["update", *flags, "--", task_id], actor=owner)

    def record(self, ids: Sequence[str], metadata: dict[str, Any]) -> None:
        """Add to the metadata of issues that exist."""
        text = msgspec.json.encode(metadata).decode()
        self.client.ask(["update", f"--metadata={text}", "--", *ids])

    def rewrite(self, task_id: str, draft: Draft, actor: str) -> None:
        """Give an open issue the words, labels, parent and metadata of a draft."""
        flags = [f"--type={draft.issue_type}", f"--set-labels={comma_separated(draft.labels)}"]
        if draft.parent is not None:
            flags.append(f"--parent={draft.parent}")
        if self.client.guards:
            flags.append("--if-assignee=")
        with TemporaryDirectory(prefix="fleet-") as scratch:
            flags += [f"--title={draft.title}", f"--priority={draft.priority}"]
            flags += long_texts(draft, Path(scratch))
            self.client.ask(["update", *flags, "--", task_id], actor=actor)

    def depend(self, task_id: str, target: str, actor: str) -> None:
        self.client.ask(["dep", "add", "--", task_id, target], actor=actor)

    def undepend(self, task_id: str, target: str, actor: str) -> None:
        self.client.ask(["dep", "remove", "--", task_id, target], actor=actor)

    def delete(self, task_id: str) -> None:
        self.client.ask(["delete", "--force", "--", task_id])


def is_id(text: str) -> bool:
    """Could any task have this id? What bd would take for something else is not asked for."""
    try:
        return bool(check_id(text))
    except BadInput:
        return False


def fitting(text: str) -> str:
    """Made into what one argument can carry: settling must never fail for an agent's text."""
    text = text.replace("\0", "").encode(errors="replace").decode()
    return text if len(text) <= LONG else f"{text[:LONG]}\n[cut by fleet]"


def _only(answer: Any) -> Task:
    tasks = tasks_in(answer)
    if len(tasks) != 1 or not tasks[0].id:
        raise QueueUnavailable(f"bd create answered with {len(tasks)} issues instead of one")
    return tasks[0]
