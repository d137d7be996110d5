"""The runs that live: their streams followed, their keepers waited for, their limits minded."""

import selectors
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from fleet.schemas import ContextFull, Lease, Outcome
from fleet.supervisor import process
from fleet.supervisor.live import Live
from fleet.supervisor.process import Ended, NeverStarted, Orphaned, Running, Vanished
from fleet.taskdir.watch import Watch

Over = Ended | Vanished | NeverStarted


class Runs:
    """All living runs of one supervisor, by task id."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        clock: Callable[[], datetime],
        ended: Callable[[Live, Over], None],
    ) -> None:
        self._selector = selector
        self._now = clock
        self._ended = ended
        self._watch = Watch()
        self._lives: dict[str, Live] = {}
        #: Tasks whose old run is not yet known to be gone: they wait, leased, until it is.
        self.unclear: dict[str, Lease] = {}
        watching = self._watch.fileno()
        if watching is not None:
            selector.register(watching, selectors.EVENT_READ, lambda: None)

    def __len__(self) -> int:
        return len(self._lives) + len(self.unclear)

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._lives.values()))

    def get(self, task_id: str) -> Live | None:
        return self._lives.get(task_id)

    def attend(self, live: Live) -> None:
        """From now on look after this run."""
        self._lives[live.task_id] = live
        self._watch.add(live.run.path)
        fd = live.keeper.fileno() if live.keeper else None
        if fd is not None:
            self._selector.register(fd, selectors.EVENT_READ, partial(self._see_end, live))
        live.read(self._now())

    def follow(self, threshold_pct: int) -> list[Live]:
        """Read what is new in the streams; the runs whose context is too full to go on."""
        for directory in self._watch.changed(0):
            live = self._lives.get(directory.parent.parent.name)
            if live is not None:
                live.read(self._now())
        for live in self:
            if live.keeper is None or live.keeper.fileno() is None:
                self._see_end(live)  # no pidfd on this system: ask
        return [live for live in self if live.verdict is None and _too_full(live, threshold_pct)]

    def stop(self, live: Live, verdict: Outcome, *, now: bool = False) -> None:
        """End a run for a reason of ours. The first reason stands; later calls may be harsher."""
        live.verdict = live.verdict or verdict
        process.stop(live.run, now=now)

    def close(self) -> None:
        """Stop looking. The runs themselves go on."""
        self._watch.close()

    def _see_end(self, live: Live) -> None:
        if live.keeper is not None:
            if not live.keeper.ended():
                return
            fd = live.keeper.fileno()
            if fd is not None:
                self._selector.unregister(fd)
            live.keeper.close()
        self._watch.drop(live.run.path)
        self._lives.pop(live.task_id, None)
        self.judge(live)

    def judge(self, live: Live) -> bool:
        """See what became of a run that nobody attends; True if it lives and can be adopted."""
        state = process.state_of(live.run)
        match state:
            case Running(started=started) if started is not None:
                live.keeper = process.adopt(started)
                if live.keeper is not None:
                    return True
                self.unclear[live.task_id] = live.lease
            case Running() | Orphaned():
                self.unclear[live.task_id] = live.lease
            case _:
                self._ended(live, state)
        return False


def _too_full(live: Live, threshold_pct: int) -> bool:
    full = context_of(live)
    assert full.tokens is not None
    assert full.window is not None
    return full.tokens * 100 >= full.window * threshold_pct


def context_of(live: Live) -> ContextFull:
    """How full the agent's context is, by its stream, or else by its coder's own figure."""
    window = live.reading.context_window or live.coder.context_limit
    return ContextFull(tokens=live.reading.context_tokens or 0, window=window)
