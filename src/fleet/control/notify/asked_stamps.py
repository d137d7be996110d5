"""Notices that an agent at work asks something: the queue does not change with that."""

from collections.abc import Iterable

from fleet.control import Control
from fleet.files.safe_read import stamp_of
from fleet.runs.questions.asked_json import FILE


def asked_stamps(fleet: Control, ids: Iterable[str]) -> tuple[tuple[int, int, int], ...]:
    """Changes when one of these tasks asks something, or is answered."""
    return tuple(stamp_of(fleet.home.task(task_id) / FILE) for task_id in ids)
