"""The application: which address is answered by what. The door stands before all of it."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from fleet.control import Control
from fleet.control.acts.act_table import ActEnd, carry_out, find_act, shown_acts
from fleet.control.page.session_store import PageSession, SessionStore
from fleet.errors import BadInput, Refused
from fleet.home.looked_at import note_look
from fleet.schemas import typed
from fleet.web.answers import errors_answered, in_thread, json_answer
from fleet.web.door import AllowedHosts
from fleet.web.gate import METRICS, PeerRun, RequestGate, allows
from fleet.web.now_stream import NowStream
from fleet.web.reads import Reads

if TYPE_CHECKING:
    from fleet.control.watch.metrics import FleetMetrics

STATIC = Path(__file__).parent / "static"
V1 = "/api/v1"
#: The type of Prometheus's text.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Seconds that an answer is kept, and how many are.
_KEPT, _MOST = 600.0, 1000
#: Seconds that an act may take: a stop waits for the agent to end, a landing for its checks.
_PATIENCE = 600.0


class PageServer:
    """What the handlers share."""

    def __init__(
        self,
        reopen: Callable[[], Control],
        store: SessionStore,
    ) -> None:
        self.reads = Reads(reopen)
        self.store = store
        self.stream = NowStream(reopen)
        self._once = OnceOnly()
        self._gate: RequestGate | None = None
        self._kept_figures: FleetMetrics | None = None

    def app(self, hosts: AllowedHosts, peer_run: PeerRun, *, proxy: str = "") -> ASGIApp:
        """The application behind the door."""
        routes = [
            Route(f"{V1}/session", errors_answered(self._exchange), methods=["POST"]),
            Route(f"{V1}/session", errors_answered(self._who), methods=["GET"]),
            Route(f"{V1}/session", errors_answered(self._leave), methods=["DELETE"]),
            Route(f"{V1}/now", errors_answered(self._now)),
            Route(f"{V1}/stream", errors_answered(self._follow)),
            Route(f"{V1}/looking", errors_answered(self._looking), methods=["POST"]),
            Route(METRICS, errors_answered(self._metrics)),
            Route(f"{V1}/acts", errors_answered(self._acts)),
            Route(f"{V1}/acts/{{verb}}", errors_answered(self._act), methods=["POST"]),
            *self.reads.routes(V1),
            Route("/api/{rest:path}", _nothing, methods=["GET", "POST", "DELETE"]),
            Route("/", self._shell),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        self._gate = RequestGate(
            Starlette(routes=routes), hosts=hosts, store=self.store, peer_run=peer_run, proxy=proxy
        )
        return self._gate

    async def _exchange(self, request: Request) -> Response:
        """A one-time code for a session key."""
        body = await _body(request)
        code, device = str(body.get("once", "")), str(body.get("device", ""))
        found = await in_thread(lambda: self.store.exchange(code, device))
        if found is None:
            assert self._gate is not None
            self._gate.note_wrong()
            hint = "A code works once and not for long. A new one: fleet web, or fleet web pair"
            return json_answer({"error": "this code does not work", "hint": hint}, 401)
        key, session = found
        return json_answer({"key": key, **_shown(session)}, 201)

    async def _who(self, request: Request) -> Response:
        return json_answer(_shown(_session(request)))

    async def _leave(self, request: Request) -> Response:
        """The session of the browser ends; the stream too."""
        self.store.revoke(_session(request).id)
        return json_answer({"ended": True})

    async def _now(self, request: Request) -> Response:
        del request
        return json_answer(await self.stream.current())

    async def _follow(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        if not since.isdecimal() or len(since) > 18:
            raise BadInput("since is a number of a change", hint="0 or none: from the beginning")
        session = _session(request)
        lines = self.stream.lines(int(since), lambda: self.store.is_in_force(session))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    async def _looking(self, request: Request) -> Response:
        """A person has the page in view: what is shown there is not told on a phone.

        A session that can answer nothing keeps no question from a phone.
        """
        if not allows(_session(request), "answer"):
            return json_answer({"error": "this session may only view"}, 403)
        await in_thread(lambda: note_look(self.reads.fleet().home))
        return json_answer({"noted": True})

    async def _metrics(self, request: Request) -> Response:
        """Figures for Prometheus."""
        del request
        text = await in_thread(lambda: self._figures().text(datetime.now().astimezone()))
        return Response(text, media_type=CONTENT_TYPE)

    def _figures(self) -> "FleetMetrics":
        """Kept: runs that are over are read once."""
        if self._kept_figures is None:
            from fleet.control.watch.metrics import FleetMetrics

            self._kept_figures = FleetMetrics(self.reads.fleet())
        return self._kept_figures

    async def _acts(self, request: Request) -> Response:
        session = _session(request)
        return json_answer([act for act in shown_acts() if allows(session, act.role)])

    async def _act(self, request: Request) -> Response:
        """Do what a person asks for; the same Idempotency-Key is never carried out twice."""
        session, verb = _session(request), request.path_params["verb"]
        act = find_act(verb)
        if not allows(session, act.role):
            hint = f"This session may {session.role}. Another one: fleet web pair --role operate"
            return json_answer({"error": f"{verb} needs the role {act.role}", "hint": hint}, 403)
        key = request.headers.get("idempotency-key", "")
        if not 8 <= len(key) <= 100:
            raise BadInput("a request that changes something has an Idempotency-Key")
        given = await _body(request)

        def done() -> ActEnd:
            fleet = self.reads.fleet()
            return carry_out(fleet, verb, given, surface="web", session=session.name)

        end = await self._once.result((session.id, key), (verb, given), done)
        return json_answer(end)

    async def _shell(self, request: Request) -> Response:
        """The page's shell; the views are behind the # of the address. It holds no data."""
        del request
        return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


async def _nothing(request: Request) -> Response:
    return json_answer({"error": f"there is nothing at {request.url.path[:200]}"}, 404)


async def _body(request: Request) -> dict[str, Any]:
    try:
        found = typed.decode(await request.body() or b"{}", dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise BadInput(f"the request is not a JSON object: {error}") from None
    except RecursionError:
        raise BadInput("the request is nested too deeply") from None
    return found


def _session(request: Request) -> PageSession:
    found: PageSession = request.state.session
    return found


def _shown(session: PageSession) -> dict[str, str]:
    return {"id": session.id, "role": session.role, "device": session.device}


class OnceOnly:
    """Acts that come twice under one Idempotency-Key are carried out once, and answered alike: the
    answers, by session and key.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, str], tuple[float, bytes, asyncio.Task[ActEnd]]] = (
            OrderedDict()
        )

    async def result(self, key: tuple[str, str], asked: Any, do: Callable[[], ActEnd]) -> ActEnd:
        """The result of the act: now, or from the first time that the act was asked for. Raises
        FleetError.
        """
        self._forget_old()
        mark = msgspec.json.encode(asked, order="sorted")
        if key in self._answers:
            _, before, task = self._answers[key]
            if before != mark:
                raise Refused("this Idempotency-Key was used for something else")
        else:
            task = asyncio.create_task(in_thread(do, _PATIENCE))
            self._answers[key] = (time.monotonic(), mark, task)
        # A client that leaves does not undo what it asked for.
        return await asyncio.shield(task)

    def _forget_old(self) -> None:
        until = time.monotonic() - _KEPT
        while self._answers:
            began, _, task = next(iter(self._answers.values()))
            if (began > until and len(self._answers) < _MOST) or not task.done():
                return
            self._answers.popitem(last=False)
