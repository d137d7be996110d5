"""The end of the demo: what happened to each task, what fleet did about it, and what deviated.

Pure: lines for the screen, from how the runs ended.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from fleet.demo.script import TASKS, DemoTask, ExpectedEnd
from fleet.runs.outcome_history import Ending
from fleet.schemas import Blocked, Closed, ContextFull, RateLimited, Task

RowState = Literal["waiting", "ready", "running", "pausing", "asking", "blocked", "closed"]
#: A line, and the style that it is printed in.
StyledLine = tuple[str, str]


class DemoRow(Struct, frozen=True, kw_only=True):
    """One task as the table and the summary show it."""

    demo_task: DemoTask
    task: Task
    state: RowState
    #: What the task waits for or came to, in few words.
    what: str = ""
    #: How its runs ended so far.
    endings: tuple[Ending, ...] = ()
    #: What the agent of its run has printed so far.
    events: int = 0


class DemoReport(Struct, frozen=True, kw_only=True):
    """What is known at the end."""

    rows: tuple[DemoRow, ...]
    #: The supervisor's log: action and sentence, in order.
    log: tuple[tuple[str, str], ...]
    commits: tuple[str, ...] = ()
    seconds: float = 0.0
    #: The supervisor was killed and a new one started.
    killed: bool = False
    #: What went wrong with the demo itself; empty if nothing did.
    trouble: str = ""

    def held_back(self, row: DemoRow) -> bool:
        """The task was claimed while its coder had a limit, and no agent was started for it."""
        words = f"{row.task.id}: released: {row.demo_task.coder} waits for its limit"
        return any(text.startswith(words) for _, text in self.log)


def deviations(report: DemoReport) -> list[str]:
    """What ended otherwise than the script says; empty if nothing did."""
    found = [report.trouble] if report.trouble else []
    made = {row.demo_task.key for row in report.rows}
    found += [f"{task.title}: never made" for task in TASKS if task.key not in made]
    for row in report.rows:
        found += [f"{row.task.id} {row.demo_task.title}: {why}" for why in _differences(row)]
    if not report.killed:
        found.append("the supervisor was not killed: its moment never came")
    return found


def _differences(row: DemoRow) -> Iterator[str]:
    expected, endings = row.demo_task.ends, row.endings
    for number, (end, ending) in enumerate(zip(expected, endings, strict=False), start=1):
        if not _matches(end, ending):
            wanted = f"{end.settlement} {end.cause}".lower().strip()
            yield f"run {number} should have been {wanted}, and was: {ending.why}"
    if len(expected) != len(endings):
        yield f"{len(endings)} runs instead of {len(expected)}"
    status = "closed" if expected[-1].settlement == "Closed" else "blocked"
    if row.task.status != status:
        yield f"is {row.task.status} instead of {status}"


def _matches(end: ExpectedEnd, ending: Ending) -> bool:
    return type(ending.settlement).__name__ == end.settlement and end.cause in ending.why


def summary(report: DemoReport) -> Iterator[StyledLine]:
    """The text below the table."""
    yield "", ""
    yield "What happened", "bold"
    for row in report.rows:
        yield from _task_lines(row, report)
    if report.killed:
        yield "  the supervisor", "cyan"
        yield "      killed with kill -9 while agents were at work", "yellow"
        yield f"      → they ran on, and a new supervisor {_adoption(report)}", ""
    yield "", ""
    yield "What the project got (git log --oneline)", "bold"
    for commit in report.commits:
        yield f"  {commit}", ""
    yield "", ""
    yield from _result(report)


def _adoption(report: DemoReport) -> str:
    adopted = sum(action == "adopted" for action, _ in report.log)
    if adopted == 0:
        return "found how they had ended"
    return f"adopted {adopted} of them in mid-work" if adopted > 1 else "adopted one in mid-work"


def _task_lines(row: DemoRow, report: DemoReport) -> Iterator[StyledLine]:
    runs = "1 run" if len(row.endings) == 1 else f"{len(row.endings)} runs"
    mark, style = ("✓", "green") if row.task.status == "closed" else ("✗", "red")
    yield f"  {mark} {row.task.id}  {row.demo_task.title}: {row.task.status}, {runs}", style
    if report.held_back(row):
        yield "      came while its coder had a limit", "yellow"
        yield "      → no agent was started before the limit had reset", ""
    for number, ending in enumerate(row.endings, start=1):
        if not isinstance(ending.settlement, Closed):
            yield f"      run {number}: {ending.why}", "yellow"
            yield f"      → {_remedy(ending, row.demo_task)}", ""


def _remedy(ending: Ending, task: DemoTask) -> str:
    """What fleet did about a run that did not close its task."""
    asked = any(end.cause == "QUESTION" for end in task.ends)
    match ending.settlement, ending.outcome:
        case _, RateLimited():
            return "waited until the limit had reset; no attempt was lost"
        case _, ContextFull():
            return "ended the session in time; a fresh one went on from its notes"
        case Blocked(), _ if asked:
            return "left it alone until fleet answer; the next run read the answer"
        case Blocked(), _:
            return "blocked: a person has to look; no more tokens go into it"
        case _:
            return "tried again after a pause, and told the agent how it had ended"


def _result(report: DemoReport) -> Iterator[StyledLine]:
    found = deviations(report)
    if found:
        yield f"Not as staged, after {report.seconds:.0f} s:", "bold red"
        yield from ((f"  {each}", "red") for each in found)
    else:
        closed = sum(row.task.status == "closed" for row in report.rows)
        rest = f"{closed} of {len(report.rows)} tasks are done, one waits for a person."
        yield f"All went as staged, in {report.seconds:.0f} s: {rest}", "bold green"


_STEPS = (
    ("fleet doctor", "what is there, what is missing"),
    ("fleet init", "your own home, ~/.fleet"),
    ("cd your/project", ""),
    ('fleet bd create "Fix the login page"', "a task, to be done here"),
    ("fleet run", "agents get to work"),
    ("fleet tasks --watch", "what they do"),
    ("fleet questions", "what they ask"),
)


def next_steps(folder: str) -> Iterator[StyledLine]:
    """How to go on; `folder` holds the fleet program where PATH does not, else it is empty."""
    yield "", ""
    yield "Now for real", "bold"
    if folder:
        yield f'  export PATH="{folder}:$PATH"', ""
    for command, about in _STEPS:
        yield f"  {command:<38}{about}".rstrip(), ""
