"""The end of the demo, and of the demo of hosts: what happened to each task, what fleet did, and
what deviated.

Pure: lines for the screen, from how the runs ended.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from fleet.demo.script import CUT_OFF, HOST_TASKS, NOWHERE, TASKS, DemoTask, ExpectedEnd
from fleet.runs.outcome_history import Ending
from fleet.schemas import Blocked, ContextFull, RateLimited, Task
from fleet.schemas.shown_text import counted

RowState = Literal[
    "waiting", "ready", "running", "pausing", "asking", "landing", "blocked", "closed"
]
#: A line, and the style that it is printed in.
StyledLine = tuple[str, str]

#: What fleet notes in a task that goes back to an agent, and in one that has landed.
_SENT_BACK = re.compile(r"sent back to its agent \(try \d+\): (.+)")
_LANDED = re.compile(r"\[landed on (\S+) as (\w{7})")


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
    #: In the demo of hosts: the names of the hosts that its runs were on, in order.
    hosts: tuple[str, ...] = ()

    @property
    def sent_back(self) -> list[str]:
        """Why the work went back to the agent, each time."""
        return _SENT_BACK.findall(self.task.notes)

    @property
    def landed(self) -> str:
        """The branch and the commit that the work landed as; empty if not landed."""
        found = _LANDED.search(self.task.close_reason)
        return f"{found[1]} as {found[2]}" if found else ""


class DemoReport(Struct, frozen=True, kw_only=True):
    """What is known at the end."""

    rows: tuple[DemoRow, ...]
    #: The supervisor's log: action and sentence, in order.
    log: tuple[tuple[str, str], ...] = ()
    commits: tuple[str, ...] = ()
    seconds: float = 0.0
    #: The supervisor was killed and a new one started.
    killed: bool = False
    #: What went wrong with the demo itself; empty if nothing did.
    trouble: str = ""

    def held_back(self, row: DemoRow) -> bool:
        """The task was claimed while the coder had a limit, and no agent was started."""
        words = f"{row.task.id}: released: {row.demo_task.coder} waits for its limit"
        return row.demo_task.late and any(text.startswith(words) for _, text in self.log)


class HostsReport(DemoReport, frozen=True, kw_only=True):
    """What is known at the end of the demo of hosts."""

    #: The host whose link was cut; empty: the moment never came.
    cut: str = ""
    #: Seconds from the cut until the agent there was dead, and until the next run began elsewhere.
    dead_after: float | None = None
    begun_after: float | None = None


def deviations(report: DemoReport) -> list[str]:
    """What ended otherwise than the script says; empty if nothing did."""
    on_hosts = isinstance(report, HostsReport)
    found = [report.trouble] if report.trouble else []
    made = {row.demo_task.key for row in report.rows}
    expected = HOST_TASKS if on_hosts else TASKS
    found += [f"{task.title}: never made" for task in expected if task.key not in made]
    for row in report.rows:
        differ = _host_differences(row) if on_hosts else _differences(row)
        found += [f"{row.task.id} {row.demo_task.title}: {why}" for why in differ]
    if isinstance(report, HostsReport):
        found += _takeover_differences(report)
    elif not report.killed:
        found.append("the supervisor was not killed: its moment never came")
    return found


def _host_differences(row: DemoRow) -> Iterator[str]:
    wanted = "open" if row.demo_task.key == NOWHERE else "closed"
    if row.task.status != wanted:
        yield f"{row.task.status}, not {wanted}"


def _takeover_differences(report: HostsReport) -> Iterator[str]:
    if not report.cut:
        yield "no link was cut: its moment never came"
    elif report.dead_after is None or report.begun_after is None:
        yield "the task of the host that was cut off did not move"
    elif report.begun_after < report.dead_after:
        yield "two agents worked on one task at once"


def _differences(row: DemoRow) -> Iterator[str]:
    expected = row.demo_task.ends
    # Whether a run is just about to start when the supervisor is killed depends on the machine.
    endings = [ending for ending in row.endings if not ending.never_started]
    for number, (end, ending) in enumerate(zip(expected, endings, strict=False), start=1):
        if not _matches(end, ending):
            wanted = f"{end.settlement} {end.cause}".lower().strip()
            yield f"run {number} should have been {wanted}, and was: {ending.why}"
    if len(expected) != len(endings):
        yield f"{len(endings)} runs instead of {len(expected)}"
    status = "closed" if expected[-1].settlement == "To land" else "blocked"
    if row.task.status != status:
        yield f"is {row.task.status} instead of {status}"
    elif status == "closed" and not row.landed:
        yield f"is closed and has not landed: {row.task.close_reason}"
    if bool(row.sent_back) != row.demo_task.goes_back:
        why = "; ".join(row.sent_back) or "its work landed at once"
        yield f"should {'' if row.demo_task.goes_back else 'not '}have been sent back: {why}"


def _matches(end: ExpectedEnd, ending: Ending) -> bool:
    settlement = "To land" if is_to_land(ending) else type(ending.settlement).__name__
    return settlement == end.settlement and end.cause in ending.why


def is_to_land(ending: Ending) -> bool:
    """The run's claim holds, and the work is to land."""
    return isinstance(ending.settlement, Blocked) and ending.settlement.to_land


def summary(report: DemoReport) -> Iterator[StyledLine]:
    """The text below the table."""
    got = "repository" if isinstance(report, HostsReport) else "project"
    yield "", ""
    yield "What happened", "bold"
    if isinstance(report, HostsReport):
        yield from _on_hosts(report)
    else:
        yield from _on_one_host(report)
    yield "", ""
    yield f"What the {got} got (git log --oneline --first-parent main)", "bold"
    for commit in report.commits:
        yield f"  {commit}", ""
    yield "", ""
    yield from _result(report)


def _on_one_host(report: DemoReport) -> Iterator[StyledLine]:
    for row in report.rows:
        yield from _task_lines(row, report)
    if report.killed:
        yield "  the supervisor", "cyan"
        yield "      killed with kill -9 while agents were at work", "yellow"
        yield f"      → they ran on, and a new supervisor {_adoption(report)}", ""


def _on_hosts(report: HostsReport) -> Iterator[StyledLine]:
    for row in report.rows:
        yield from _host_task_lines(row, report)
    yield "", ""
    yield "Where agents worked", "bold"
    for host, titles in sorted(_by_host(report.rows).items()):
        yield f"  {host:<8} {', '.join(titles)}", ""


def _host_task_lines(row: DemoRow, report: HostsReport) -> Iterator[StyledLine]:
    mark, style = ("✓", "green") if row.task.status == "closed" else ("·", "yellow")
    runs = " → ".join(row.hosts) or "no host"
    yield f"  {mark} {row.task.id}  {row.task.title}: {row.task.status}, on {runs}", style
    if row.demo_task.key == CUT_OFF and report.cut:
        yield f"      the link of {report.cut} was cut while its agent was at work", "yellow"
        if report.dead_after is not None and report.begun_after is not None:
            dead, begun = f"{report.dead_after:.0f} s", f"{report.begun_after:.0f} s"
            yield f"      → the agent there was dead {dead} later, and the next one began", ""
            yield f"        {begun} after the cut; no attempt was lost", ""
    elif row.demo_task.key == NOWHERE:
        yield f"      {row.what}", "yellow"
        yield "      → it waits, and is not blocked: a host that has it may come", ""
    elif row.demo_task.behaviour == "curious":
        yield "      its agent asked, and the answer was given from another machine", "yellow"


def _by_host(rows: Sequence[DemoRow]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        for host in dict.fromkeys(row.hosts):
            found.setdefault(host, []).append(row.task.title)
    return found


def _adoption(report: DemoReport) -> str:
    adopted = sum(action == "adopted" for action, _ in report.log)
    if adopted == 0:
        return "found how they had ended"
    return f"adopted {adopted} of them in mid-work" if adopted > 1 else "adopted one in mid-work"


def _task_lines(row: DemoRow, report: DemoReport) -> Iterator[StyledLine]:
    runs = counted(len(row.endings), "run")
    mark, style = ("✓", "green") if row.task.status == "closed" else ("✗", "red")
    state = f"landed on {row.landed}" if row.landed else row.task.status
    yield f"  {mark} {row.task.id}  {row.demo_task.title}: {state}, {runs}", style
    if report.held_back(row):
        yield "      came while its coder had a limit", "yellow"
        yield "      → no agent was started before the limit had reset", ""
    back = iter(row.sent_back)
    for number, ending in enumerate(row.endings, start=1):
        if not is_to_land(ending):
            yield f"      run {number}: {ending.why}", "yellow"
            yield f"      → {_remedy(ending, row.demo_task)}", ""
        elif why := next(back, ""):
            yield f"      run {number}: done, and {why}", "yellow"
            yield f"      → {_carried_on(row, number)}", ""
    if row.landed and len(row.demo_task.needs) > 1:
        yield f"      → began from main, where {row.task.close_reason.partition(' [')[0]}", ""


def _carried_on(row: DemoRow, number: int) -> str:
    """What became of work that went back to the agent after this run."""
    after = row.endings[number : number + 1]
    same = any(each.resumed for each in after)
    session = "the same session" if same else "a fresh session"
    return f"went back to its agent with the merge begun; {session} finished it"


def _remedy(ending: Ending, task: DemoTask) -> str:
    """What fleet did about a run that did not close the task."""
    asked = any(end.cause == "QUESTION" for end in task.ends)
    if ending.never_started:
        return "its supervisor was killed first; the next one began anew, no attempt was lost"
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
    elif isinstance(report, HostsReport):
        yield f"All went as staged, in {report.seconds:.0f} s. Nothing was lost.", "bold green"
    else:
        closed = sum(row.task.status == "closed" for row in report.rows)
        rest = f"{closed} of {len(report.rows)} tasks have landed, one waits for a person."
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
    """How to go on; `folder` holds the fleet program where PATH does not, else empty."""
    yield "", ""
    yield "Now for real", "bold"
    if folder:
        yield f'  export PATH="{folder}:$PATH"', ""
    for command, about in _STEPS:
        yield f"  {command:<38}{about}".rstrip(), ""
