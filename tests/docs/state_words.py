"""Writes `docs/states.md` by asking every surface: `python -m tests.docs.state_words`."""

import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import msgspec

from fleet.bd.pflag import Parsed
from fleet.cli.inspect.tasks import tasks
from fleet.cli.landing.land import command as land
from fleet.cli.run.questions import command as questions
from fleet.cli.run.status import status
from fleet.cli.tracker.bd import bd
from fleet.cli.tracker.ready import ready
from fleet.cli.tracker.show import show
from fleet.control.notify.notices import notices
from fleet.control.notify.telling_rules import headline
from fleet.control.queue import needs_person
from fleet.control.view.read_now import NowReader
from fleet.mcp.operator_pages import page_of
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.schemas.task_state import TaskState
from fleet.tui.views.now_list import now_listing
from tests.situations import Situations

FILE = Path(__file__).parents[2] / "docs" / "states.md"
WORDS = get_args(TaskState)
#: The longest first: "to land" is no "land".
_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
_MEANINGS: Mapping[TaskState, str] = {
    "ready": "It can start now.",
    "waiting": "It waits for another task, a time, a limit, or something that you have to mend.",
    "running": "An agent is at work.",
    "asks": "A question is open. The task can neither close nor land until you answer.",
    "verifying": "The agent is done, and fleet checks its claim.",
    "to land": "The work is accepted and on the way to its branch.",
    "needs approval": "You decide, since no check proves the work or a rule wants a person.",
    "sent back": "The work does not fit its branch, and its agent mends that.",
    "landed": "The branch has the work.",
    "done": "Closed, with nothing to land.",
    "failed": "No attempt is left.",
    "stopped": "A person stopped it.",
}
#: What surface after surface calls each task, by id; a task that it does not list is missing.
Said = Mapping[str, set[str]]


def printed(act: Callable[[], object]) -> str:
    """What a command prints on a wide terminal."""
    text = io.StringIO()
    with redirect_stdout(text), patch.dict(os.environ, {"COLUMNS": "400"}):
        act()
    return text.getvalue()


def below_headings(text: str, headings: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Each task's id, the rest of its line, and the word that the heading above says."""
    heading = ""
    for line in text.splitlines():
        first = re.sub(r" \d+$", "", line.strip())
        if first in headings:
            heading = headings[first]
        elif found := re.match(r"\W*(fleet-\w+)\s(.*)", line):
            yield found[1], found[2], heading


def words_below(text: str, headings: Mapping[str, str]) -> Said:
    """The word in the line of each task, or else that of the heading above."""
    said: dict[str, set[str]] = {}
    for task, rest, heading in below_headings(text, headings):
        found = re.search(rf"(?:· |  )({_WORD})(?=:| on |, |$| \()", rest)
        said.setdefault(task, set()).add(found[1] if found else heading)
    return said


def of_tasks(home: Situations) -> Said:
    text = printed(lambda: tasks(Parsed({"all": True}, ())))
    return words_below(text, {"Needs you": "", "Running": "running", "Waiting": "waiting",
                              "Done today": ""})  # fmt: skip


def of_top(home: Situations) -> Said:
    now = datetime.now().astimezone()
    lines = now_listing(NowReader(home.fleet).read(now), now, 400).lines
    text = "\n".join("".join(span for span, _ in line) for line in lines)
    return words_below(text, {"NEEDS YOU": "", "RUNNING": "running", "WAITING": "waiting",
                              "DONE": ""})  # fmt: skip


def of_status(home: Situations) -> Said:
    said: dict[str, set[str]] = {}
    with patch.object(needs_person, "_NAMED", len(home.made)):  # the first few, otherwise
        text = printed(lambda: status(Parsed({}, ())))
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        ids = re.findall(r"fleet-\w+", rest.partition(":")[0]) if name == "waits" else ()
        named = re.match(r"\s+(fleet-\w+) ", rest)
        for task in ids or ([named[1]] if named else ()):
            said.setdefault(task, set()).add("waiting" if name == "waits" else name)
    return said


def of_show(home: Situations) -> Said:
    said: dict[str, set[str]] = {}
    for task, _ in home.made.values():
        text = printed(lambda task=task: show(Parsed({}, (task,))))
        said[task] = set(re.findall(rf"^state:\s+({_WORD})\b", text, re.MULTILINE))
    return said


def of_ready(home: Situations) -> Said:
    text = printed(lambda: ready(Parsed({}, ())))
    lines = below_headings(f"Ready:\n{text}", {"Ready:": "ready", "Waiting:": "waiting"})
    said = re.compile(rf"  \(({_WORD})\)$")
    return {
        task: {found[1] if (found := said.search(rest)) else heading}
        for task, rest, heading in lines
    }


def of_land(home: Situations) -> Said:
    text = printed(lambda: land([], standalone_mode=False))
    return {task: {word} for task, _, word in below_headings(text, {each: each for each in WORDS})}


def of_questions(home: Situations) -> Said:
    found = json.loads(printed(lambda: questions(["--json"], standalone_mode=False)))
    return {each["id"]: {"needs approval" if each["plan"] else "asks"} for each in found}


def of_bd(*line: str) -> Callable[[Situations], Said]:
    """The word in brackets; without one the status says it."""
    plain = {"open": "ready", "in_progress": "running", "closed": "done"}

    def read(home: Situations) -> Said:
        said: dict[str, set[str]] = {}
        for each in printed(lambda: bd(list(line))).splitlines():
            found = re.match(rf"(fleet-\w+)  P\d  (\w+) .*?(?:[(,]\s?({_WORD})\))?$", each)
            if found:
                said[found[1]] = {found[3] or plain.get(found[2], found[2])}
        return said

    return read


def of_page(home: Situations) -> Said:
    now = NowReader(home.fleet).read(datetime.now().astimezone())
    rows = json.loads(msgspec.json.encode(now))["rows"]
    return {row["id"]: {row["state"]} for row in rows}


def of_agents(home: Situations) -> Said:
    """The list, and the answer to why."""
    said: dict[str, set[str]] = {}
    for task, _ in home.made.values():
        text = page_of(home.fleet, "why", {"id": task}).text
        said[task] = set(re.findall(rf"^{task}: ({_WORD})\b", text))
    for row in page_of(home.fleet, "list", {}).rows:
        said[row["id"]].add(row["state"])
    return said


def of_notices(home: Situations) -> Said:
    found = notices(NowReader(home.fleet).read(datetime.now().astimezone()))
    heads = {each.task: headline(each) for each in found if each.task}
    return {task: set(re.findall(rf"(?:: | )({_WORD})$", head)) for task, head in heads.items()}


#: Each surface by the name that people know.
SURFACES: Mapping[str, Callable[[Situations], Said]] = {
    "`tasks --all`": of_tasks,
    "`top`": of_top,
    "page": of_page,
    "`show`": of_show,
    "agents (MCP)": of_agents,
    "`bd list --all`": of_bd("list", "--all", "--limit", "0"),
    "`status`": of_status,
    "`ready`": of_ready,
    "`land`": of_land,
    "`questions`": of_questions,
    "messages": of_notices,
}


def asked(home: Situations) -> Mapping[str, Said]:
    """What every surface calls every task, while a supervisor runs."""
    with sole_supervisor(home.home):
        return {name: read(home) for name, read in SURFACES.items()}


def page(home: Situations, said: Mapping[str, Said]) -> str:
    """The whole page."""
    meanings = [f"| **{word}** | {meaning} |" for word, meaning in _MEANINGS.items()]
    rows = [
        f"| {what} | **{word}** | {_cells(said, task)} |"
        for what, (task, word) in home.made.items()
    ]
    marks = " | ".join(SURFACES)
    return "\n".join([
        "# How a task stands",
        "",
        "One word for each task, the same wherever you look. `make docs` asks every surface and",
        "writes this page; a test compares the two.",
        "",
        "| word | meaning |",
        "| --- | --- |",
        *meanings,
        "",
        "## Which word when, and who says it",
        "",
        "`•`: the surface lists the task, with this word. Empty: it does not list such tasks.",
        "",
        f"| situation | word | {marks} |",
        f"| --- | --- |{' --- |' * len(SURFACES)}",
        *rows,
        "",
    ])  # fmt: skip


def _cells(said: Mapping[str, Said], task: str) -> str:
    return " | ".join("•" if task in each else "" for each in said.values())


def at(root: Path) -> Situations:
    """The home, which commands find by themselves from then on."""
    os.environ["FLEET_HOME"] = str(root / "home")
    return Situations(root)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = at(Path(folder))
        FILE.write_text(page(made, asked(made)), encoding="utf-8")
