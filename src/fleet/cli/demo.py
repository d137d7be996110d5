"""`fleet demo`: watch fleet work before trusting fleet with a project."""

import shutil
import sys
import textwrap
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli.live_view import live_view
from fleet.cli.terminal_text import painted, table, terminal_width
from fleet.demo.summary import DemoReport, DemoRow, RowState, StyledLine, summary
from fleet.errors import BadInput
from fleet.schemas.shown_text import cut

if TYPE_CHECKING:
    from fleet.web.serve import ListeningServer

_HEADLINE = "fleet demo: the agents are simulated, all else is real. Ctrl-C ends it."
_STYLES: Mapping[RowState, str] = {
    "waiting": "dim",
    "running": "cyan",
    "pausing": "yellow",
    "asking": "magenta",
    "landing": "cyan",
    "blocked": "red",
    "closed": "green",
}
_SHORTEST_LOG = 3


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the demo's home and project for you to look at.")
@click.option(
    "--hosts",
    type=click.IntRange(2, 6),
    help="On this many hosts, in network namespaces, with a PostgreSQL. Needs root.",
)
@click.option("--web", "with_page", is_flag=True, help="Offer the page on it, until Ctrl-C.")
def command(keep: bool, hosts: int | None, with_page: bool) -> int:
    """Watch fleet work through a small project with simulated agents.

    The queue, the supervisor and all processes are real; the agents are scripts. One crashes, one
    asks, one hits a limit, one fills its context, one forgets to say that it is done; two change
    the same line, and the second merges before it lands; and the supervisor is killed. The demo
    needs git 2.38, no account and no network, and takes about half a minute in a temporary
    directory that is removed at the end.

    With --hosts the tasks are worked on by several machines, as far as they can tell: each has a
    network of its own, and reaches a real PostgreSQL and the project's repository over a link. One
    link is cut while an agent is at work. It takes a minute or two.

    Exit code: 0 all went as staged, 1 something did not.
    """
    if hosts is not None:
        if with_page:
            raise BadInput("--web goes with the demo on one host", hint="Leave --hosts out.")
        return _on_hosts(hosts, keep=keep)
    from fleet.demo.demo_home import demo_home
    from fleet.demo.run_demo import Demo
    from fleet.demo.summary import deviations, next_steps

    page: DemoPage | None = None

    def play(screen: Screen) -> DemoReport:
        nonlocal page
        page = DemoPage(place.env, screen.say) if with_page else None
        show = page.follow(screen.show) if page is not None else screen.show
        return Demo(place, screen.say, show).run()

    with demo_home(keep=keep) as place:
        report = _watched(demo_table, play)
        if page is not None:
            page.stay()
    if keep:
        kept = (f"project  {place.project}", f"home     {place.home.path}")
        look = f"look     FLEET_HOME={place.home.path} fleet bd list --all"
        _print([("", ""), ("Kept", "bold"), *((f"  {line}", "") for line in (*kept, look))])
    else:
        _print([("Its processes are ended, and its home and project removed.", "")])
    _print(next_steps(_folder_of_fleet()))
    return 1 if deviations(report) else 0


def _on_hosts(count: int, *, keep: bool) -> int:
    """The demo on several hosts."""
    from fleet.demo.demo_hosts import demo_hosts
    from fleet.demo.run_hosts import HostsDemo
    from fleet.demo.summary import deviations

    with demo_hosts(keep=keep) as place:
        report = _watched(
            host_table, lambda screen: HostsDemo(place, count, screen.say, screen.show).run()
        )
    if keep:
        _print([("", ""), (f"Kept: {place.root}", "bold")])
    else:
        _print([("Its processes are ended, its networks and files removed.", "")])
    return 1 if deviations(report) else 0


def _watched(
    table_of: Callable[[Sequence[DemoRow]], Iterator[str]],
    play: Callable[["Screen"], DemoReport],
) -> DemoReport:
    """Play a demo on the screen, and say what happened."""
    try:
        with live_view() if sys.stdout.isatty() else nullcontext() as draw:
            report = play(Screen(draw, table_of))
    except KeyboardInterrupt:
        click.echo("Interrupted. All that was started is being ended.")
        raise
    _print(summary(report))
    return report


class DemoPage:
    """The page on the demo's home: from the first task on, until a person has seen enough."""

    def __init__(self, env: Mapping[str, str], say: Callable[[str, str], None]) -> None:
        self._env, self._say = env, say
        self._thread: threading.Thread | None = None
        self._server: ListeningServer | None = None

    def follow(
        self, show: Callable[[Sequence[DemoRow]], None]
    ) -> Callable[[Sequence[DemoRow]], None]:
        """Show the rows; with the first ones the home is there, and the page begins."""

        def shown(rows: Sequence[DemoRow]) -> None:
            if self._thread is None:
                self._begin()
            show(rows)

        return shown

    def _begin(self) -> None:
        from fleet import control
        from fleet.cli.inspect.web import offer
        from fleet.web.serve import Listening

        server, address = offer(lambda: control.opened(self._env), Listening())
        self._server = server
        self._thread = threading.Thread(target=server.serve, name="page", daemon=True)
        self._thread.start()
        self._say(f"The page, within a minute: {address}", "bold")

    def stay(self) -> None:
        """Leave the page open until Ctrl-C; the last line is the page's address,
        with a fresh code.
        """
        if self._thread is None or self._server is None:
            return
        from fleet import control
        from fleet.cli.inspect.web import with_code
        from fleet.control.page.session_store import TO_PAIR

        click.echo("The page stays open on the demo until Ctrl-C. Open it within five minutes:")
        fleet = control.opened(self._env)
        click.echo(f"  {with_code(fleet, self._server.address, 'operate', TO_PAIR)}")
        fleet.close()
        with suppress(KeyboardInterrupt):
            while self._thread.is_alive():
                self._thread.join(0.5)
        self._server.stop()


class Screen:
    """On a terminal the table of tasks with the last lines of the log; elsewhere the log alone."""

    def __init__(
        self,
        draw: Callable[[Sequence[str]], None] | None,
        table_of: Callable[[Sequence[DemoRow]], Iterator[str]],
    ) -> None:
        self._draw, self._table_of = draw, table_of
        self._log: deque[StyledLine] = deque(maxlen=50)
        self._lines: Sequence[str] = ()
        if draw is None:
            click.echo(_HEADLINE)

    def say(self, text: str, style: str) -> None:
        """Add a line to the log."""
        self._log.append((text, style or "dim"))
        if self._draw is None:
            click.echo(text)
        self._redraw()

    def show(self, rows: Sequence[DemoRow]) -> None:
        """Show the table of tasks anew."""
        self._lines = list(self._table_of(rows))
        self._redraw()

    def _redraw(self) -> None:
        if self._draw is None:
            return
        width = terminal_width()
        rows = (cut(line, width) for line in self._lines)
        above = [painted(_HEADLINE, "bold"), "", *rows, ""]
        room = max(_SHORTEST_LOG, shutil.get_terminal_size().lines - len(above) - 1)
        log = [painted(cut(text, width), style) for text, style in list(self._log)[-room:]]
        self._draw([*above, *log])


def demo_table(rows: Sequence[DemoRow]) -> Iterator[str]:
    """The tasks, one a line."""
    cells: list[tuple[str, ...]] = []
    for row in rows:
        number = len(row.endings) + (row.state == "running")
        state = painted(row.state, _STYLES.get(row.state, ""))
        what = row.what or (f"{row.events} events" if row.events else "")
        run = str(number) if number else ""
        cells.append((row.task.id, str(row.task.priority), row.task.title, run, state, what))
    return table(("Task", "P", "Title", "Run", "State", ""), cells, right=("Run",))


def host_table(rows: Sequence[DemoRow]) -> Iterator[str]:
    """The tasks of the demo of hosts, one a line."""
    cells = [
        (
            row.task.id, row.task.title, " → ".join(row.hosts),
            painted(row.state, _STYLES.get(row.state, "")), row.what,
        )
        for row in rows
    ]  # fmt: skip
    return table(("Task", "Title", "Host", "State", ""), cells)


def _print(lines: Iterable[StyledLine]) -> None:
    """Print lines; a long one goes on two places to the right."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 100
    for line, style in lines:
        margin = " " * (len(line) - len(line.lstrip()) + 2)
        text = textwrap.fill(
            line, width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
        )
        click.echo(painted(text, style))


def _folder_of_fleet() -> str:
    """The directory of this fleet's program; empty if PATH leads to a fleet already."""
    folder = Path(sys.executable).parent
    if shutil.which("fleet"):
        return ""
    return f"$PWD/{folder.relative_to(Path.cwd())}" if Path.cwd() in folder.parents else str(folder)
