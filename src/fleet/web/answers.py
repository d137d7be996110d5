"""Values as answers: JSON, errors with their status, and agents' files as plain text."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fleet.control.tasks.task_files import Missing
from fleet.errors import (
    BadInput,
    FleetError,
    InvalidTask,
    NotFound,
    QueueError,
    Refused,
)

T = TypeVar("T")
#: Seconds that a request may wait for the queue, for git and for the disk.
PATIENCE = 30.0

#: The status of an answer by the kind of its error; the first that fits.
_STATUS: tuple[tuple[type[FleetError], int], ...] = (
    (NotFound, 404),
    (Missing, 404),
    (BadInput, 400),
    (Refused, 409),
    (InvalidTask, 409),
    (QueueError, 503),
)


def json_answer(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def error_answer(error: FleetError) -> Response:
    """The error for a person, with the way out."""
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
    return json_answer({"error": error.message, "hint": error.hint}, status)


def file_answer(data: bytes, name: str) -> Response:
    """What an agent wrote: text to be saved, never a page of ours."""
    head = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type="text/plain; charset=utf-8", headers=head)


async def in_thread(work: Callable[[], T], patience: float = PATIENCE) -> T:
    """The result of work that may wait. Raises QueueError if it takes too long."""
    try:
        with anyio.fail_after(patience):
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except TimeoutError:
        raise QueueError(
            f"no answer within {patience:.0f} s",
            hint="How the queue does: fleet status, fleet doctor",
        ) from None


def errors_answered(
    handle: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """The handler, with every FleetError as an answer."""

    async def answered(request: Request) -> Response:
        try:
            return await handle(request)
        except FleetError as error:
            return error_answer(error)
        except OSError as error:
            return json_answer({"error": f"a file cannot be read: {error.strerror}"}, 500)

    return answered
