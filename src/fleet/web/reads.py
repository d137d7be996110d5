"""The addresses that only read: each is one call of `control`."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fleet.control import Control, KeptHome
from fleet.control.accounts import accounts_view
from fleet.control.acts.create import known_places
from fleet.control.tasks.questions import questions
from fleet.control.tasks.receipt import receipt_of
from fleet.control.tasks.task_files import WHATS, document, last_lines, newest_log, whole
from fleet.control.usage import BYS, read_usage
from fleet.control.view.task.comparison_view import read_comparison
from fleet.control.view.task.read_diff import read_diff, read_diff_file
from fleet.control.view.task.read_transcript import read_transcript, search_transcript
from fleet.control.view.task.whole_task import read_whole_task
from fleet.control.view.task_graph import read_graph
from fleet.control.view.timeline import LONGEST, read_timeline
from fleet.errors import BadInput, NotFound
from fleet.web.answers import errors_answered, file_answer, in_thread

#: Bytes of an agent's file that are served; the rest is on the disk.
_LARGEST_FILE = 64 << 20
_MOST_LOG_LINES = 5000

Read = Callable[[Control, Request], Any]


class Reads:
    """The reading addresses. Each thread has an open home of its own."""

    def __init__(self, reopen: Callable[[], Control]) -> None:
        self._reopen = reopen
        self._own = threading.local()

    def fleet(self) -> Control:
        """The home, opened by this thread."""
        kept: KeptHome | None = getattr(self._own, "kept", None)
        if kept is None:
            kept = self._own.kept = KeptHome(self._reopen)
        return kept.fleet()

    def routes(self, at: str) -> list[Route]:
        task = f"{at}/tasks/{{id}}"
        found: dict[str, Read] = {
            task: lambda fleet, asked: read_whole_task(fleet, _id(asked), _now()),
            f"{task}/receipt": lambda fleet, asked: receipt_of(
                fleet, _id(asked), _number(asked, "run")
            ),
            f"{task}/transcript": _transcript,
            f"{task}/transcript/search": lambda fleet, asked: search_transcript(
                fleet, _id(asked), asked.query_params.get("q", ""), at=_number(asked, "at") or 0
            ),
            f"{task}/diff": lambda fleet, asked: read_diff(
                fleet, _id(asked), _number(asked, "run")
            ),
            f"{task}/diff/{{number:int}}": lambda fleet, asked: read_diff_file(
                fleet,
                _id(asked),
                asked.path_params["number"],
                _number(asked, "run"),
                of=asked.query_params.get("of", ""),
                row=_number(asked, "row") or 0,
                words=asked.query_params.get("words") == "1",
            ),
            f"{task}/comparison": lambda fleet, asked: read_comparison(fleet, _id(asked), _now()),
            f"{task}/graph": lambda fleet, asked: read_graph(fleet, _id(asked), _now()),
            f"{at}/questions": _questions,
            f"{at}/timeline": _timeline,
            f"{at}/usage": _usage,
            f"{at}/accounts": lambda fleet, _: accounts_view(fleet, _now()),
            f"{at}/places": lambda fleet, _: known_places(fleet),
            f"{at}/log": _log,
        }
        routes = [
            Route(path, errors_answered(self._answered(read))) for path, read in found.items()
        ]
        return [*routes, Route(f"{task}/file/{{name}}", errors_answered(self._file))]

    def _answered(self, read: Read) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            # Encoded in the thread too: a large answer keeps no other client waiting.
            data = await in_thread(lambda: msgspec.json.encode(read(self.fleet(), request)))
            return Response(data, media_type="application/json")

        return answer

    async def _file(self, request: Request) -> Response:
        """A file of an agent's, or of the task: text to be saved."""
        task_id, name = _id(request), request.path_params["name"]
        if name not in WHATS:
            raise NotFound(f"there is no file {name[:40]!r}", hint=f"Known: {', '.join(WHATS)}")
        number = _number(request, "run")

        def content() -> bytes:
            found = bytearray()
            for chunk in whole(document(self.fleet(), task_id, name, number)):
                found += chunk
                if len(found) > _LARGEST_FILE:
                    break
            return bytes(found[:_LARGEST_FILE])

        return file_answer(await in_thread(content), f"{task_id}-{name}.txt")


def _transcript(fleet: Control, asked: Request) -> Any:
    return read_transcript(
        fleet,
        _id(asked),
        at=_number(asked, "at"),
        limit=_number(asked, "limit") or 200,
        back=asked.query_params.get("back") == "1",
    )


def _questions(fleet: Control, asked: Request) -> Any:
    del asked
    found, others = questions(fleet)
    return {"questions": found, "others": others}


def _timeline(fleet: Control, asked: Request) -> Any:
    now = _now()
    end = _moment(asked, "to") or now
    hours = min(_number(asked, "hours") or 12, 24 * LONGEST.days)
    start = _moment(asked, "from") or end - timedelta(hours=hours)
    return read_timeline(fleet, start, end, now)


def _usage(fleet: Control, asked: Request) -> Any:
    by = asked.query_params.get("by", "day")
    days = _number(asked, "days") or 30
    for known in BYS:
        if known == by:
            return read_usage(fleet, known, _now(), _now() - timedelta(days=min(days, 3650)))
    raise BadInput(f"usage is by {', '.join(BYS)}, not by {by[:40]!r}")


def _log(fleet: Control, asked: Request) -> Any:
    """The last lines of the supervisor's newest log."""
    count = min(_number(asked, "lines") or 200, _MOST_LOG_LINES)
    lines: list[Any] = []
    for raw in last_lines(newest_log(fleet), count).splitlines():
        try:
            lines.append(msgspec.json.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # half a line
    return {"lines": lines}


def _id(asked: Request) -> str:
    """The id in the address; `control` holds the id against the rule for ids before
    anything else.
    """
    found: str = asked.path_params["id"]
    return found


def _number(asked: Request, name: str) -> int | None:
    text = asked.query_params.get(name)
    if text is None or text == "":
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise BadInput(f"{name} is a number, not {text[:40]!r}")
    return int(text)


def _moment(asked: Request, name: str) -> datetime | None:
    text = asked.query_params.get(name)
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        raise BadInput(f"{name} is a moment like 2026-11-17T22:00:00Z") from None
    return found if found.tzinfo is not None else found.astimezone()


def _now() -> datetime:
    return datetime.now(UTC)
