"""The MCP server of a run: `ask_human`, `report_progress` and `propose_task`, by the run's drop
box.

The server knows nothing and decides nothing: each call is a request in the box, which the
supervisor holds against the table. So the tools work inside of any sandbox, and a question outlives
its asker.
"""

import json
import os
import sys
import time

from fleet.spool import client
from fleet.spool.agent_mcp.line_server import Json, LineServer, PendingCall, Tools, said

#: Seconds between two reports of progress; those between are dropped.
REPORT_EVERY = 5.0
#: Seconds beyond `ask_wait` that a call of `ask_human` may take: for fleet's own answers.
ASK_SLACK = 60.0
#: Seconds that a question waits for a supervisor that is gone; most are started again by then.
UNASKED = 90.0
#: What the file in the box is called that holds a person's answer.
ANSWER = "question-{}.answer"

_TEXT = {"type": "string"}
_NO_ANSWER = (
    "fleet does not answer now. Ask by the files instead: append a `## Q:` block to Q&A.md, run"
    ' `bd update TASK --status blocked --notes "QUESTION: …"`, then end your turn.'
)
PARKED = "Parked: end your turn now; you will be resumed in this session with the answer."


def _tool(name: str, about: str, properties: Json, *required: str) -> Json:
    schema: Json = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": about, "inputSchema": schema}


TOOLS = (
    _tool(
        "ask_human",
        "Ask the person who runs this task what only a person can decide. Returns the answer, or"
        " tells you to end your turn until there is one. One question at a time.",
        {
            "question": _TEXT,
            "options": {"type": "array", "items": _TEXT},
            "default": {"type": "string", "description": "what you would do otherwise"},
        },
        "question",
    ),
    _tool(
        "report_progress",
        "Tell people in one line how far you are. Proves nothing; optional.",
        {"text": _TEXT, "done": {"type": "integer"}, "of": {"type": "integer"}},
        "text",
    ),
    _tool(
        "propose_task",
        "Propose work that is not part of this task. It waits until a person accepts it.",
        {
            "title": _TEXT,
            "description": _TEXT,
            "after_this": {"type": "boolean", "description": "only once this task is done"},
        },
        "title",
        "description",
    ),
)


class _Request(PendingCall):
    """One request to fleet, whose answer is the result."""

    words = "waiting for fleet"

    def __init__(self, box: str, tool: str, arguments: Json) -> None:
        data = json.dumps(arguments).encode()
        self._place = client.leave(box, client.packed(["mcp", tool], {b"-": data}))
        self._began = time.monotonic()

    def answer(self, now: float) -> "tuple[int, str] | None":
        """Exit code and text; None: not yet. Raises Unanswered."""
        answer = client.answered(self._place)
        if answer is not None:
            code, _, out, err = answer
            return code, (out if code == 0 else err).decode(errors="replace").strip()
        if client.is_late(self._place, now - self._began):
            raise client.Unanswered
        return None

    def look(self, now: float) -> "Json | None":
        try:
            answer = self.answer(now)
        except (client.Unanswered, ValueError, OSError):
            return said("fleet does not answer now; the request waits for it.")
        return None if answer is None else said(answer[1], is_error=answer[0] != 0)

    def take_back(self) -> bool:
        """Take the request out of the box; False: the supervisor has taken the request up."""
        return client.remove(f"{self._place}.request")


class _Question(PendingCall):
    """A question: asked, then waited for, then parked."""

    words = "waiting for a person's answer"

    def __init__(self, box: str, arguments: Json) -> None:
        self._box = box
        # Named here: a supervisor may be killed after it recorded the question, before it says so.
        self._id = os.urandom(8).hex()
        self._asking: _Request | None = _Request(box, "ask_human", {**arguments, "id": self._id})
        self._parking: _Request | None = None
        self._began, self._until = time.monotonic(), 0.0
        self.is_over = False

    def look(self, now: float) -> "Json | None":
        try:
            result = self._step(now)
        except (ValueError, KeyError, OSError) as error:  # the box is gone, or holds no answer
            result = said(f"{_NO_ANSWER} ({error})", is_error=True)
        self.is_over = result is not None
        return result

    def _step(self, now: float) -> "Json | None":
        if self._asking is not None:
            return self._asked(self._asking, now)
        if self._parking is not None:
            return self._parked(self._parking, now)
        return self._waited(now)

    def _asked(self, request: _Request, now: float) -> "Json | None":
        try:
            answer = request.answer(now)
        except client.Unanswered:
            # What is taken back is asked by nothing but the files.
            if now - self._began > UNASKED and request.take_back():
                return said(_NO_ANSWER, is_error=True)
            answer = None
        if answer is None:
            return self._given()
        code, text = answer
        if code != 0:
            return said(text, is_error=True)
        asked = json.loads(text)
        if asked["answer"] is not None:
            return said(asked["answer"])
        self._id, self._until = str(asked["id"]), now + float(asked["wait"])
        self._asking = None
        return None

    def _waited(self, now: float) -> "Json | None":
        given = self._given()
        if given is None and now >= self._until:
            self._parking = _Request(self._box, "park_question", {"id": self._id})
        return given

    def _given(self) -> "Json | None":
        """What a person answered, from the box."""
        try:
            with open(f"{self._box}/{ANSWER.format(self._id)}", encoding="utf-8") as file:  # noqa: PTH123
                return said(file.read())
        except FileNotFoundError:
            return None

    def _parked(self, request: _Request, now: float) -> "Json | None":
        try:
            answer = request.answer(now)
        except client.Unanswered:  # the request stays, and is recorded once the run has ended
            return said(PARKED)
        return None if answer is None else said(answer[1], is_error=answer[0] != 0)

    def cancel(self) -> None:
        self.is_over = True
        if self._asking is not None:
            self._asking.take_back()


class AgentTools(Tools):
    """The three tools of one run."""

    instructions = "fleet runs you. ask_human reaches the person who runs this task."
    offered = TOOLS

    def __init__(self, box: str) -> None:
        self._box = box
        self._question: _Question | None = None
        self._reported = -REPORT_EVERY

    def call(self, name: str, arguments: Json) -> "Json | PendingCall":
        try:
            if name == "ask_human":
                return self._ask(arguments)
            if name == "report_progress":
                now = time.monotonic()
                if now - self._reported < REPORT_EVERY:
                    return said("Dropped: one report in five seconds is enough.")
                self._reported = now
            return _Request(self._box, name, arguments)
        except OSError as error:
            return said(f"The drop box cannot be used: {error.strerror}", is_error=True)

    def _ask(self, arguments: Json) -> "Json | PendingCall":
        if self._question is not None and not self._question.is_over:
            return said(
                "You have a question that waits. Put all that you want to know into one question.",
                is_error=True,
            )
        self._question = _Question(self._box, arguments)
        return self._question


def run() -> None:
    """Serve the agent of one run, by the box on the command line, until the CLI closes the line."""
    try:
        LineServer(AgentTools(sys.argv[1])).serve()
    except KeyboardInterrupt:
        sys.exit(130)
