"""What a simulated agent prints: JSON lines in the shape of Claude Code's."""

import json
import sys
from typing import Any, TextIO
from uuid import uuid4


class Stream:
    """One session's lines, each written at once. The context grows with every answer."""

    def __init__(self, model: str, out: TextIO = sys.stdout) -> None:
        self.model = model
        self.session = str(uuid4())
        self.context = 2_000
        self._out = out
        self._answers = 0
        self._put("system", subtype="init", model=model)

    def says(self, text: str) -> None:
        self._answer({"type": "text", "text": text})

    def calls(self, tool: str, **given: Any) -> str:
        """A tool is asked for; the id that its result has to bear."""
        call = f"call-{self._answers + 1}"
        self._answer({"type": "tool_use", "id": call, "name": tool, "input": given})
        return call

    def got(self, call: str, text: str, *, failed: bool = False) -> None:
        result = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
        self._put("user", message={"role": "user", "content": [result]})

    def limited(self, resets_at: float) -> None:
        info = {"status": "rejected", "resetsAt": resets_at, "rateLimitType": "five_hour"}
        self._put("rate_limit_event", rate_limit_info=info)

    def ends(self, text: str, *, refused: int | None = None) -> None:
        """The last line; `refused` is the HTTP status of a request that was not answered."""
        self._put(
            "result",
            subtype="success",  # of a refused run too: so does the original
            is_error=refused is not None,
            api_error_status=refused,
            num_turns=self._answers,
            result=text,
            usage={"input_tokens": self.context, "output_tokens": 40 * self._answers},
        )

    def _answer(self, block: dict[str, Any]) -> None:
        self._answers += 1
        self.context += 800
        message = {
            "id": f"{self.session[:8]}-{self._answers}",
            "role": "assistant",
            "model": self.model,
            "content": [block],
            "usage": {"input_tokens": self.context, "output_tokens": 40},
        }
        self._put("assistant", message=message)

    def _put(self, kind: str, **fields: Any) -> None:
        line = {"type": kind, **fields, "session_id": self.session}
        print(json.dumps(line), file=self._out, flush=True)
