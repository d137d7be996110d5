"""Tasks for tests that need one and do not care which."""

from datetime import UTC, datetime

from fleet.schemas import Task

_MADE = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def a_task(**fields) -> Task:
    whole = {"id": "fleet-abc", "title": "Add a parser", "created_at": _MADE, "updated_at": _MADE}
    return Task(**whole | fields)
