"""Logs as JSON lines: the supervisor's in `logging/fleet-<date>.jsonl`, a task's in `log.jsonl`.

Each line has a stable `action` for machines and a sentence for people. Files are named by day,
kept for a while, and bounded in size.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from fleet.files.append_file import append, append_in
from fleet.schemas.shown_text import headline

KEPT = timedelta(days=30)
#: A log file that has reached this size takes no more lines.
LARGEST = 64 << 20
#: Texts that are said once are remembered up to this many; the oldest are forgotten.
MOST_SAID = 512


class Log:
    """The supervisor's log, for all its threads. A full disk costs lines and never ends the
    supervisor.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], datetime],
        echo: Callable[[str], None] | None = None,
    ) -> None:
        """`echo` shows a line to the person at the terminal; None: there is no such person."""
        self._folder = folder
        self._now = clock
        self._echo = echo
        self._day = ""
        #: The texts that were said once, the latest last.
        self._said: dict[str, None] = {}
        self.lost = 0

    def say(self, action: str, text: str, *, task_dir: Path | None = None, **facts: Any) -> None:
        """Write a line to the supervisor's log, to the task's log if given, and to the screen."""
        now = self._now()
        if task_dir is not None:
            facts.setdefault("task", task_dir.name)
        text = text.encode(errors="replace").decode()
        line = msgspec.json.encode({"ts": now, "action": action, "text": text, **facts}) + b"\n"
        if (day := now.date().isoformat()) != self._day:
            self._day = day
            self._forget_old(now)
        self._append(partial(append, f"{self._folder}/fleet-{day}.jsonl", line))
        if task_dir is not None:
            self._append(partial(append_in, task_dir, "log.jsonl", line))
        if self._echo is not None:
            # More lines are most likely what a verify command printed; the logs have all of it.
            way = f"fleet task {task_dir.name} receipt" if task_dir is not None else ""
            self._show(self._echo, f"{now.astimezone():%H:%M:%S}  {headline(text, way)}")

    def say_once(self, action: str, text: str, *, task_dir: Path | None = None) -> None:
        """Write a line unless this log was given the same text before."""
        known = text in self._said
        self._said.pop(text, None)
        self._said[text] = None
        if len(self._said) > MOST_SAID:
            del self._said[next(iter(self._said))]
        if not known:
            self.say(action, text, task_dir=task_dir)

    def _append(self, write: Callable[..., bool]) -> None:
        try:
            write(limit=LARGEST)
        except OSError:
            self.lost += 1  # `fleet status` shows the count

    def _show(self, echo: Callable[[str], None], text: str) -> None:
        try:
            echo(text)
        except OSError:
            self._echo = None  # the terminal or pipe was closed; the log has all lines

    def _forget_old(self, now: datetime) -> None:
        for path in self._folder.glob("fleet-*.jsonl"):
            if path.stem < f"fleet-{now - KEPT:%F}":
                try:
                    path.unlink(missing_ok=True)
                except OSError:
                    self.lost += 1
