"""The end of the demo of hosts: where each task ran, and what the cut link cost. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fleet.demo.hosts.host_tasks import CUT_OFF, NOWHERE
from fleet.demo.script import DemoTask
from fleet.demo.summary import DemoRow, StyledLine


class HostsReport(Struct, frozen=True, kw_only=True):
    """What is known at the end."""

    rows: tuple[DemoRow, ...]
    #: The host whose link was cut; empty: the moment never came.
    cut: str = ""
    #: Seconds from the cut until the agent there was dead, and until the next run began elsewhere.
    dead_after: float | None = None
    begun_after: float | None = None
    commits: tuple[str, ...] = ()
    seconds: float = 0.0
    trouble: str = ""


def deviations(report: HostsReport, expected: Sequence[DemoTask]) -> list[str]:
    """What ended otherwise than the script says; empty if nothing did."""
    found = [report.trouble] if report.trouble else []
    made = {row.demo_task.key: row for row in report.rows}
    found += [f"{task.title}: never made" for task in expected if task.key not in made]
    for key, row in made.items():
        wanted = "open" if key == NOWHERE else "closed"
        if row.task.status != wanted:
            found.append(f"{row.task.id} {row.task.title}: {row.task.status}, not {wanted}")
    if not report.cut:
        found.append("no link was cut: its moment never came")
    elif report.dead_after is None or report.begun_after is None:
        found.append("the task of the host that was cut off did not move")
    elif report.begun_after < report.dead_after:
        found.append("two agents worked on one task at once")
    return found


def hosts_summary(report: HostsReport, expected: Sequence[DemoTask]) -> Iterator[StyledLine]:
    """The text below the table."""
    yield "", ""
    yield "What happened", "bold"
    for row in report.rows:
        yield from _task_lines(row, report)
    yield "", ""
    yield "Where agents worked", "bold"
    for host, titles in sorted(_by_host(report.rows).items()):
        yield f"  {host:<8} {', '.join(titles)}", ""
    yield "", ""
    yield "What the repository got (git log --oneline --first-parent main)", "bold"
    for commit in report.commits:
        yield f"  {commit}", ""
    yield "", ""
    if found := deviations(report, expected):
        yield f"Not as staged, after {report.seconds:.0f} s:", "bold red"
        yield from ((f"  {each}", "red") for each in found)
    else:
        yield f"All went as staged, in {report.seconds:.0f} s. Nothing was lost.", "bold green"


def _task_lines(row: DemoRow, report: HostsReport) -> Iterator[StyledLine]:
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


def _by_host(rows: Sequence[DemoRow]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        for host in dict.fromkeys(row.hosts):
            found.setdefault(host, []).append(row.task.title)
    return found
