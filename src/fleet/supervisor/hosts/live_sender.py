"""Sends the lines of living runs to people who watch from other hosts; nothing while none does."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fleet.config import Config
from fleet.errors import FleetError, InvalidTask
from fleet.files.safe_read import open_regular
from fleet.queue.protocol import Queue
from fleet.queue.sql.travel.live_lines import LiveBytes
from fleet.runs import event_log
from fleet.runs.run_directory import Run
from fleet.travel.pack_run import LOG, sent_so_far
from fleet.travel.shared_queue import SharedQueue

_EVERY = 1.0
#: Bytes of one file that are sent at a time, and how far behind a watcher may begin.
_MOST = 256 << 10
_STDERR = "stderr"


class LiveSender:
    """A thread that sleeps until a person may watch a run of this host."""

    def __init__(
        self, config: Config, open_queue: Callable[[], Queue], living: Callable[[], list[Run]]
    ) -> None:
        self._config, self._open, self._living = config, open_queue, living
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        #: How far each file of a run was sent, while it is watched.
        self._sent: dict[tuple[str, int, str], int] = {}

    def look(self) -> None:
        """A person may have begun to watch: see, and go on as long as that lasts."""
        if not self._living():
            return
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="live lines", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            with suppress(FleetError, OSError):  # the next change of the queue wakes it again
                self._send_while_watched()

    def _send_while_watched(self) -> None:
        queue = self._open()
        try:
            shared = SharedQueue(queue, self._config)
            while wanted := shared.live.wanted():
                runs = [run for run in self._living() if run.task_id in wanted]
                if not runs:
                    return
                for run in runs:
                    self._send(shared, run)
                self._wake.wait(_EVERY)
                self._wake.clear()
            self._sent.clear()
        finally:
            queue.close()

    def _send(self, shared: SharedQueue, run: Run) -> None:
        before = sent_so_far(run.task_dir)
        for path, place, base in (
            (event_log.FILE, run.task_dir / event_log.FILE, before.events),
            (LOG, run.task_dir / LOG, before.log),
            (_STDERR, run.stderr, 0),
        ):
            key = (run.task_id, run.number, path)
            start = self._sent.get(key)
            if start is None:  # it may have been watched before, also by an earlier supervisor
                start = shared.live.sent_until(run.task_id, path, run.number)
            data = _whole_lines(place, base + start)
            if data:
                new = LiveBytes(run=run.number, start=start, data=data)
                shared.live.send(run.task_id, path, new)
                self._sent[key] = start + len(data)


def _whole_lines(path: Path, start: int) -> bytes:
    """New whole lines of a file, at most _MOST bytes of them."""
    try:
        fd = open_regular(path)
    except InvalidTask:
        return b""
    if fd is None:
        return b""
    try:
        data = os.pread(fd, _MOST, start)
    finally:
        os.close(fd)
    return data[: data.rfind(b"\n") + 1] or (data if len(data) == _MOST else b"")
