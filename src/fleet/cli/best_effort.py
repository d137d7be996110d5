"""A look at the queue for convenience only: in a bounded time, and empty if the look fails."""

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import structs

from fleet import control
from fleet.control import Control

T = TypeVar("T")

#: Seconds that a shell's completion or a help page may wait for the queue.
PATIENCE = 1.5


def best_effort(look: Callable[[Control], Sequence[T]], patience: float = PATIENCE) -> Sequence[T]:
    """What `look` returns; nothing without a home, with a broken file, or from a slow queue."""
    answers: list[Sequence[T]] = []

    def work() -> None:
        try:
            fleet = control.opened(os.environ)
            fleet.config = structs.replace(fleet.config, busy_timeout_s=1, bd_timeout_s=1)
            answers.append(look(fleet))
        except Exception:  # noqa: BLE001, S110 - a traceback has no place in a shell's prompt
            pass

    # The thread is left behind: not every queue has a time limit.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(patience)
    return answers[0] if answers else ()
