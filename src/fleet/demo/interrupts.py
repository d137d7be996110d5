"""Ctrl-C, and the signals that mean the same, as a KeyboardInterrupt at a moment that suits.

Between the start of a process and the note of it, and while we clear up, none comes through: it
waits. So whenever somebody interrupts, what was started is known and is ended.
"""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Held back from the start; `allowed` lets them through."""

    def __init__(self) -> None:
        self._allowed = False
        self._waiting = False
        for number in SIGNALS:
            signal.signal(number, self._heard)

    @contextmanager
    def allowed(self) -> Generator[None]:
        """Here an interrupt ends whatever is going on."""
        yield from self._switched(to=True)

    @contextmanager
    def held(self) -> Generator[None]:
        """Here an interrupt waits until the end of the block."""
        yield from self._switched(to=False)

    def _switched(self, *, to: bool) -> Generator[None]:
        before, self._allowed = self._allowed, to
        try:
            self._let_through()
            yield
        finally:
            self._allowed = before
        self._let_through()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._waiting = True
        self._let_through()

    def _let_through(self) -> None:
        if self._waiting and self._allowed:
            self._waiting = False
            raise KeyboardInterrupt
