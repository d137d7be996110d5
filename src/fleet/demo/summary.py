"""The end of the play: what happened task by task, what fleet did about it, and what deviated.

Pure: lines for a screen, from how the runs ended.
"""

from collections.abc import Iterator

from msgspec import Struct

from fleet.demo.progress import Row
from fleet.demo.sandbox import Sandbox
from fleet.demo.script import SCENES, Scene, Turn
from fleet.runs.outcome_history import Ending
from fleet.schemas import Blocked, Closed, ContextFull, RateLimited


class Line(Struct, frozen=True):
    """A line for the screen; its style is a word of rich."""

    text: str = ""
    style: str = ""
    indent: int = 0


class Report(Struct, frozen=True, kw_only=True):
    """What is known at the end."""

    rows: tuple[Row, ...]
    #: What the supervisor said: action and sentence, in order.
    said: tuple[tuple[str, str], ...]
    commits: tuple[str, ...] = ()
    seconds: float = 0.0
    #: The supervisor was killed and a new one started.
    killed: bool = False
    #: What went wrong with the demo itself; empty if nothing did.
    trouble: str = ""

    def held_back(self, row: Row) -> bool:
        """The task was claimed while its coder had a limit, and no agent was started for it."""
        words = f"{row.task.id}: released: {row.scene.coder} waits for its limit"
        return any(text.startswith(words) for _, text in self.said)

    @property
    def adopted(self) -> int:
        return sum(action == "adopted" for action, _ in self.said)


def deviations(report: Report) -> list[str]:
    """In what the evening was not the play that was announced; empty if in nothing."""
    found = [report.trouble] if report.trouble else []
    played = {row.scene.key for row in report.rows}
    found += [f"{scene.title}: never made" for scene in SCENES if scene.key not in played]
    for row in report.rows:
        found += [f"{row.task.id} {row.scene.title}: {why}" for why in _differences(row)]
    if not report.killed:
        found.append("the supervisor was not killed: its moment never came")
    return found


def _differences(row: Row) -> Iterator[str]:
    turns, endings = row.scene.turns, row.endings
    for number, (turn, ending) in enumerate(zip(turns, endings, strict=False), start=1):
        if not _is(turn, ending):
            wanted = f"{turn.settlement} {turn.cause}".lower().strip()
            yield f"run {number} should have been {wanted}, and was: {ending.why}"
    if len(turns) != len(endings):
        yield f"{len(endings)} runs instead of {len(turns)}"
    status = "closed" if turns[-1].settlement == "Closed" else "blocked"
    if row.task.status != status:
        yield f"is {row.task.status} instead of {status}"


def _is(turn: Turn, ending: Ending) -> bool:
    return type(ending.settlement).__name__ == turn.settlement and turn.cause in ending.why


def summary(report: Report) -> Iterator[Line]:
    """The whole text below the table."""
    yield Line()
    yield Line("What happened", "bold")
    for row in report.rows:
        yield from _task(row, report)
    if report.killed:
        yield Line("the supervisor", "cyan", 2)
        yield Line("killed with kill -9 while agents were at work", "yellow", 6)
        yield Line(f"→ they ran on, and a new supervisor {_took_over(report.adopted)}", "", 6)
    yield Line()
    yield Line("What the project got (git log --oneline)", "bold")
    for commit in report.commits:
        yield Line(commit, "", 2)
    yield Line()
    yield from _verdict(report)


def _took_over(adopted: int) -> str:
    if adopted == 0:
        return "found how they had ended"
    return f"adopted {adopted} of them in mid-work" if adopted > 1 else "adopted one in mid-work"


def _task(row: Row, report: Report) -> Iterator[Line]:
    done = row.task.status == "closed"
    runs = "1 run" if len(row.endings) == 1 else f"{len(row.endings)} runs"
    mark, style = ("✓", "green") if done else ("✗", "red")
    yield Line(f"{mark} {row.task.id}  {row.scene.title}: {row.task.status}, {runs}", style, 2)
    if report.held_back(row):
        yield Line("came while its coder had a limit", "yellow", 6)
        yield Line("→ no agent was started before the limit had reset", "", 6)
    for number, ending in enumerate(row.endings, start=1):
        if isinstance(ending.settlement, Closed):
            continue
        yield Line(f"run {number}: {ending.why}", "yellow", 6)
        yield Line(f"→ {_remedy(ending, row.scene)}", "", 6)


def _remedy(ending: Ending, scene: Scene) -> str:
    """What fleet did about an ending that was not the good one."""
    asked = any(turn.cause == "QUESTION" for turn in scene.turns)
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


def _verdict(report: Report) -> Iterator[Line]:
    found = deviations(report)
    closed = sum(row.task.status == "closed" for row in report.rows)
    if not found:
        rest = f"{closed} of {len(report.rows)} tasks are done, one waits for a person."
        yield Line(f"All went as staged, in {report.seconds:.0f} s: {rest}", "bold green")
        return
    yield Line(f"Not as staged, after {report.seconds:.0f} s:", "bold red")
    for each in found:
        yield Line(each, "red", 2)


def kept(sandbox: Sandbox) -> Iterator[Line]:
    """Where everything is, and how to look at it."""
    home = sandbox.home.path
    yield Line()
    yield Line("Kept", "bold")
    yield Line(f"project  {sandbox.project}", "", 2)
    yield Line(f"home     {home}", "", 2)
    yield Line(f"look     FLEET_HOME={home} fleet bd list --all", "", 2)


_STEPS = (
    ("fleet doctor", "what is there, what is missing"),
    ("fleet init", "your own home, ~/.fleet"),
    ("cd your/project", ""),
    ('fleet bd create "Fix the login page"', "a task, to be done here"),
    ("fleet run", "agents get to work"),
    ("fleet tasks --watch", "what they do"),
    ("fleet questions", "what they ask"),
)


def next_steps(folder: str) -> Iterator[Line]:
    """How to go on for real; `folder` holds the fleet program, where PATH does not know it."""
    yield Line()
    yield Line("Now for real", "bold")
    if folder:
        yield Line(f'export PATH="{folder}:$PATH"', "", 2)
    for command, about in _STEPS:
        yield Line(f"{command:<38}{about}".rstrip(), "", 2)
