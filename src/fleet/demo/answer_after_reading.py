"""The person of a demo reads a question for a moment, and then answers."""

import shlex
import time
from collections.abc import Sequence
from datetime import datetime

from fleet.control import Control
from fleet.control.tasks.questions import answer
from fleet.demo.script import ANSWER

#: Seconds for which a question stays on the screen before it is answered.
_READING_S = 1.5


class DemoPerson:
    """Answers the tasks of one demo."""

    def __init__(self) -> None:
        self._asked_at: float | None = None

    def answer(self, fleet: Control, asking: Sequence[str]) -> str:
        """Answer the first task that asks, once a person could have read the question; the command
        line that a person would have typed, or nothing while there is nothing to answer yet.
        """
        if not asking:
            self._asked_at = None
        elif self._asked_at is None:
            self._asked_at = time.monotonic()
        elif time.monotonic() > self._asked_at + _READING_S:
            answer(fleet, fleet.get(asking[0]), ANSWER, at=datetime.now().astimezone())
            return f"fleet answer {asking[0]} {shlex.quote(ANSWER)}"
        return ""
