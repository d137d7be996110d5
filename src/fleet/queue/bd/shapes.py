"""The JSON shapes of bd: which fields, in which order, and which are left out when empty."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fleet.schemas import Comment, Dependency, Task


def when(moment: datetime) -> str:
    """RFC 3339 in UTC, without a fraction that says nothing."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def issue(task: Task) -> dict[str, Any]:
    """Bd's Issue: empty fields are absent, never null; status and priority always stand."""
    always: dict[str, Any] = {"id": task.id, "title": task.title}
    optional: Mapping[str, Any] = {
        "description": task.description,
        "design": task.design,
        "acceptance_criteria": task.acceptance_criteria,
        "notes": task.notes,
        "spec_id": task.spec_id,
    }
    always |= {name: value for name, value in optional.items() if value}
    always |= {"status": task.status, "priority": task.priority, "issue_type": task.issue_type}
    always |= _present({"assignee": task.assignee, "owner": task.owner})
    if task.estimated_minutes is not None:
        always["estimated_minutes"] = task.estimated_minutes
    always["created_at"] = when(task.created_at)
    always |= _present({"created_by": task.created_by})
    always["updated_at"] = when(task.updated_at)
    always |= _present(
        {
            "started_at": task.started_at,
            "closed_at": task.closed_at,
            "close_reason": task.close_reason,
            "due_at": task.due_at,
            "defer_until": task.defer_until,
            "external_ref": task.external_ref,
            "metadata": task.metadata,
            "lease_expires_at": task.lease_until,
            "heartbeat_at": task.heartbeat_at,
        }
    )
    if task.fence:
        always["claim_fence"] = task.fence
    always |= task.extra
    if task.labels:
        always["labels"] = list(task.labels)
    return always


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: when(value) if isinstance(value, datetime) else value
        for name, value in fields.items()
        if value
    }


def comment(of: Comment) -> dict[str, Any]:
    return {
        "id": of.id,
        "issue_id": of.task_id,
        "author": of.author,
        "text": of.text,
        "created_at": when(of.created_at),
    }


def dependency(edge: Dependency) -> dict[str, Any]:
    """A raw edge, as `list` and `export` show it."""
    return {
        "issue_id": edge.task_id,
        "depends_on_id": edge.depends_on_id,
        "type": edge.type,
        "created_at": when(edge.created_at),
        "created_by": edge.created_by,
        "metadata": edge.metadata,
        "thread_id": edge.thread_id,
    }
