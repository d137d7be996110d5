"""Tasks that this home has directories of, and that a queue which was set back does not know: they
were made after the copy that the queue comes from.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fleet.errors import BadInput, InvalidTask
from fleet.files.safe_read import read_bounded
from fleet.home import Home, task_json
from fleet.queue.protocol import Filter, Queue
from fleet.queue.sql.hosts.server_copy import was_set_back
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.runs.run_directory import latest_run
from fleet.schemas import Settings

#: How many ids are asked for at once.
_AT_ONCE = 500
_PROMPT = "prompt.md"
_LARGEST_PROMPT = 1 << 20
#: The first line of a prompt names the task.
_HEADING = re.compile(r"# Task \S+: (.+)")


class MissingTask(Struct, frozen=True, kw_only=True):
    """A task that the queue does not know, and what this home has of it."""

    id: str
    #: From the prompt of its last run; empty: it never ran here, and only the queue had it.
    title: str = ""
    #: The directory that the task is about, and the file with what its agent was asked.
    cwd: str = ""
    prompt: str = ""


def missing_tasks(home: Home, queue: Queue) -> tuple[MissingTask, ...]:
    """Tasks of this home that the queue lacks, by id; none for a queue that was never set back.
    Deleted tasks cannot be told from those that were made since.
    """
    if not isinstance(queue, SqlQueue) or not was_set_back(queue):
        return ()
    names = list(_names(home))
    known: set[str] = set()
    for at in range(0, len(names), _AT_ONCE):
        want = Filter(ids=tuple(names[at : at + _AT_ONCE]), include_closed=True)
        known.update(task.id for task in queue.find(want))
    return tuple(_missing(home, name) for name in names if name not in known)


def _names(home: Home) -> Iterator[str]:
    for name in sorted(os.listdir(home.tasks)) if home.tasks.is_dir() else ():  # noqa: PTH208
        try:
            if (home.task(name) / task_json.FILE).exists() or latest_run(home.task(name)):
                yield name
        except BadInput:
            continue  # no id of a task


def _missing(home: Home, task_id: str) -> MissingTask:
    try:
        settings = task_json.read(home, task_id) or Settings()
    except InvalidTask:
        settings = Settings()
    run = latest_run(home.task(task_id))
    prompt = run.path / _PROMPT if run is not None else None
    return MissingTask(
        id=task_id,
        title=_title(prompt) if prompt is not None else "",
        cwd=settings.cwd or "",
        prompt=str(prompt) if prompt is not None and prompt.exists() else "",
    )


def _title(prompt: Path) -> str:
    try:
        text = (read_bounded(prompt, _LARGEST_PROMPT) or b"").decode(errors="replace")
    except InvalidTask:
        return ""
    found = _HEADING.match(text.partition("\n")[0])
    return found[1].strip() if found else ""
