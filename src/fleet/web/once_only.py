"""Acts that come twice under one Idempotency-Key are carried out once, and answered alike."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from fleet.control.acts.act_table import ActEnd
from fleet.errors import Refused
from fleet.web.answers import in_thread

#: Seconds that an answer is kept, and how many are.
_KEPT, _MOST = 600.0, 1000
#: Seconds that an act may take: a stop waits for the agent to end, a landing for its checks.
_PATIENCE = 600.0

OnceKey = tuple[str, str]


class OnceOnly:
    """The answers of acts, by session and key."""

    def __init__(self) -> None:
        self._answers: OrderedDict[OnceKey, tuple[float, bytes, asyncio.Task[ActEnd]]] = (
            OrderedDict()
        )

    async def result(self, key: OnceKey, asked: Any, do: Callable[[], ActEnd]) -> ActEnd:
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
