"""What can be seen of the play while it runs: a row a task, drawn from the queue and the files."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from fleet.control import Control
from fleet.demo.script import Scene
from fleet.files.tail import Follower
from fleet.home import Home
from fleet.queue.protocol import Filter
from fleet.runs.event_log import FILE
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import all_runs
from fleet.schemas import RateLimited, Task, ToolCall

State = Literal["waiting", "ready", "running", "pausing", "asking", "blocked", "closed"]

#: What a task in progress does until its agent says something.
STARTS = "starts"


class Row(Struct, frozen=True, kw_only=True):
    """One task as the audience sees it."""

    scene: Scene
    task: Task
    state: State
    #: What goes on, in few words.
    what: str = ""
    #: How its runs ended so far. One that is at work has not ended.
    endings: tuple[Ending, ...] = ()


def look(fleet: Control, cast: Mapping[str, Scene], now: datetime) -> list[Row]:
    """All tasks of the play in its order; `cast` has the scenes by task id."""
    tasks = {task.id: task for task in fleet.queue.find(Filter(include_closed=True))}
    ids = {scene.key: task_id for task_id, scene in cast.items()}
    rows: list[Row] = []
    for task_id, scene in cast.items():
        needs = [tasks[ids[key]] for key in scene.needs]
        endings = _endings(fleet.home, task_id)
        words = _last_words(fleet.home, task_id) if tasks[task_id].status == "in_progress" else ""
        rows.append(row_of(scene, tasks[task_id], endings, needs, words=words, now=now))
    return rows


def row_of(
    scene: Scene,
    task: Task,
    endings: Sequence[Ending],
    needs: Sequence[Task],
    *,
    words: str,
    now: datetime,
) -> Row:
    """Pure: what a task's status, its past runs and its agent's last words come to."""
    state, what = _state(task, endings, needs, words, now)
    return Row(scene=scene, task=task, state=state, what=what, endings=tuple(endings))


def _state(
    task: Task, endings: Sequence[Ending], needs: Sequence[Task], words: str, now: datetime
) -> tuple[State, str]:
    last = endings[-1] if endings else None
    missing = [need.title for need in needs if need.status != "closed"]
    match task.status:
        case "closed":
            return "closed", task.close_reason.partition(" [run")[0]
        case "in_progress":
            return "running", words or STARTS
        case "blocked" if last is not None and last.why.startswith("QUESTION:"):
            return "asking", last.why.removeprefix("QUESTION:").strip()
        case "blocked":
            return "blocked", last.why if last else task.notes
        case _ if task.not_before and task.not_before > now:
            return "pausing", _pause(last, (task.not_before - now).total_seconds())
        case _ if missing:
            return "waiting", f"for: {', '.join(missing)}"
        case _:
            return "ready", last.why if last else ""


def _pause(last: Ending | None, seconds: float) -> str:
    if last is None:  # claimed, and given back before anything was started
        return f"{seconds:.0f} s: its coder has reached a limit"
    if isinstance(last.outcome, RateLimited):
        return f"{seconds:.0f} s until the limit resets"
    return f"{seconds:.0f} s, then again: {last.why}"


def is_over(rows: Sequence[Row]) -> bool:
    """Nothing more happens by itself, and nobody is asked for anything.

    What waits for a blocked task waits for ever. Rows come after those that they need.
    """
    lost: set[str] = set()
    for row in rows:
        if row.state == "blocked" or (row.state == "waiting" and lost & {*row.scene.needs}):
            lost.add(row.scene.key)
    return all(row.state == "closed" or row.scene.key in lost for row in rows)


def _endings(home: Home, task_id: str) -> list[Ending]:
    endings = [read_ending(run) for run in all_runs(home.task(task_id))]
    return [ending for ending in endings if ending is not None]


class _Line(Struct):
    """What of an event can be shown."""

    kind: str = ""
    text: str = ""
    calls: tuple[ToolCall, ...] = ()


def _last_words(home: Home, task_id: str) -> str:
    """What the agent last said or did."""
    words = ""
    for line in Follower(home.task(task_id) / FILE).read():
        event = msgspec.json.decode(line.data, type=_Line)
        if event.kind == "fleet_started":
            words = ""  # what follows is another agent's
        words = event.text or " ".join(_did(call) for call in event.calls) or words
    return words


def _did(call: ToolCall) -> str:
    if "command" in call.input:
        return f"$ {call.input['command']}"
    return f"{call.name} {Path(str(call.input.get('file_path', ''))).name}"


class Journal:
    """The supervisor's log, line by line, across days and supervisors."""

    def __init__(self, home: Home) -> None:
        self._folder = home.logging
        self._followers: dict[str, Follower] = {}

    def news(self) -> list[tuple[str, str]]:
        """What was said since the last time: the action and the sentence."""
        found: list[tuple[str, str]] = []
        for path in sorted(self._folder.glob("fleet-*.jsonl")):
            follower = self._followers.setdefault(path.name, Follower(path))
            for line in follower.read():
                record = msgspec.json.decode(line.data, type=dict[str, object])
                found.append((str(record.get("action")), str(record.get("text"))))
        return found
