"""`fleet web`: the page in a browser, sessions, and pairing another device."""

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import print_line, table, wants_colour
from fleet.control import Control, refuse_agents
from fleet.control.acts.each_act import Role
from fleet.control.page.page_address import live_address, write_open_file
from fleet.control.page.session_store import AT_ONCE, ROLES, TO_PAIR, SessionStore
from fleet.errors import FleetError
from fleet.schemas.shown_text import moment, one_line

if TYPE_CHECKING:
    from fleet.web.serve import Listening, ListeningServer


#: Light modules around a QR code, without which a camera does not find it.
_QR_MARGIN = 2
#: By whether the upper and the lower module are dark.
_QR_HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


def _now() -> datetime:
    return datetime.now(UTC)


@click.group("web", invoke_without_command=True)
@click.option("--port", type=click.IntRange(1024, 65535), help="Listen here, not where last time.")
@click.option("--socket", "socket", is_flag=True, help="On $FLEET_HOME/web.sock, for ssh -L.")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Listen on another address.")
@click.option("--allow-host", "allowed", multiple=True, metavar="NAME", help="Answer to this name.")
@click.option("--cert", type=click.Path(exists=True), help="TLS: the certificate.")
@click.option("--key", type=click.Path(exists=True), help="TLS: its key.")
@click.option("--proxy", default="", metavar="ADDRESS", help="A proxy with TLS stands before it.")
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
@click.pass_context
def command(
    ctx: click.Context,
    port: int | None,
    socket: bool,
    host: str,
    allowed: tuple[str, ...],
    cert: str | None,
    key: str | None,
    proxy: str,
    no_open: bool,
) -> None:
    """See and steer fleet in a browser, until Ctrl-C.

    The server listens on this machine only and is never started unasked. The browser is opened with
    a code that works once, within a minute; `fleet web pair` makes one for another device. The page
    works with the supervisor dead, and says so.

    From elsewhere: ssh -L 7373:127.0.0.1:PORT HOST, or fleet web --socket there and
    ssh -L 7373:HOME/.fleet/web.sock HOST. Another address than this machine's needs --allow-host,
    and TLS or a proxy that has it.
    """
    if ctx.invoked_subcommand is not None:
        return
    refuse_agents(os.environ, "offer the page")
    from fleet.web.serve import Listening

    where = Listening(
        host=host, port=port or 0, socket=socket, allowed=allowed, cert=cert or "", key=key or "",
        proxy=proxy,
    )  # fmt: skip
    server, address = offer(control.opened, where)
    home = control.opened().home
    if socket:
        print_line(f"The page is on {home.path / 'web.sock'}. On your own machine:")
        print_line(f"  ssh -N -L 7373:{home.path / 'web.sock'} HOST")
        print_line(f"and open, within a minute: {address}")
        print_line("Later: fleet web pair prints a new code.")
    elif no_open or not _open(write_open_file(home, address)):
        print_line(f"Open, within a minute: {address}")
    else:
        print_line(f"The page is at {server.address}")
    print_line("Ctrl-C ends it; agents and supervisor go on.")
    sys.stdout.flush()
    server.serve()


def offer(reopen: Callable[[], Control], where: "Listening") -> "tuple[ListeningServer, str]":
    """A server that listens, and the page's address with a code for the first browser."""
    from fleet.web.serve import start

    fleet = reopen()
    server = start(reopen, SessionStore(fleet.home, _now), where)
    return server, with_code(fleet, server.address, "operate", AT_ONCE)


def with_code(fleet: Control, address: str, role: Role, lasts: timedelta) -> str:
    """The address of the page with a code for one more browser."""
    return f"{address}/#once={SessionStore(fleet.home, _now).new_code(role, lasts)}"


def _open(path: Path) -> bool:
    """Open a file of ours in the browser; the code inside stands on no command line."""
    import webbrowser

    if not sys.stdout.isatty() or not (os.environ.get("DISPLAY") or sys.platform == "darwin"):
        return False
    return webbrowser.open(path.as_uri())


@command.command("pair")
@click.option("--role", type=click.Choice(ROLES), default="answer", help="What it may do.")
def pair(role: Role) -> None:
    """Print the page's address for another device, with a code that works once, within five
    minutes; on a terminal also as a QR code to be scanned.

    view: look. answer: also answer questions and tell agents something. operate: everything.
    """
    refuse_agents(os.environ, "pair a device")
    fleet = control.opened()
    address = live_address(fleet.home)
    if not address:
        raise FleetError("no page is offered now", hint="Offer it, and pair then: fleet web")
    opens = with_code(fleet, address, role, TO_PAIR)
    print_line(f"Open there, within five minutes and while fleet web runs ({role}):")
    print_line(f"  {opens}")
    if urlsplit(address).hostname in ("127.0.0.1", "localhost", "::1"):
        print_line(
            "That address is this machine's own. A phone needs one that it can reach:"
            " fleet web --help"
        )
    elif sys.stdout.isatty() and wants_colour():
        for line in qr_lines(opens):
            click.echo(f"  {line}")


def qr_lines(text: str) -> Iterator[str]:
    """A text as a QR code: two modules a character, dark on light whatever the theme."""
    import segno

    code = segno.make(text, error="l", micro=False, boost_error=False)
    rows = [tuple(map(int, row)) for row in code.matrix_iter(border=_QR_MARGIN)]
    light = (0,) * len(rows[0])
    for upper, lower in zip(rows[::2], [*rows[1::2], light], strict=False):
        halves = "".join(_QR_HALVES[pair] for pair in zip(upper, lower, strict=True))
        yield f"\x1b[30;107m{halves}\x1b[0m"


@command.command("sessions")
@click.option("--json", "as_json", is_flag=True, help="A JSON array.")
def sessions(as_json: bool) -> None:
    """List the browsers that may use the page."""
    fleet = control.opened()
    found = SessionStore(fleet.home, _now).sessions()
    if as_json:
        shown = ("id", "role", "device", "created_at", "used_at")
        print_json([{name: getattr(each, name) for name in shown} for each in found])
        return
    if not found:
        print_line("No browser has a session. To open the page: fleet web")
        return
    now = datetime.now().astimezone()
    rows = [
        [each.id, each.role, moment(each.used_at, now), one_line(each.device)] for each in found
    ]
    for line in table(["Session", "Role", "Last used", "Device"], rows):
        click.echo(line)


@command.command("revoke")
@click.argument("session_id", metavar="[SESSION]", required=False)
@click.option("--all", "everything", is_flag=True, help="Every session.")
def revoke(session_id: str | None, everything: bool) -> None:
    """End a browser's session, at once and for good."""
    fleet = control.opened()
    store = SessionStore(fleet.home, _now)
    if everything:
        print_line(f"Ended {store.revoke_all()} sessions.")
        return
    if session_id is None:
        raise click.UsageError("Name a session (fleet web sessions), or --all.")
    found = store.revoke(session_id)
    print_line(f"Ended {found.id} ({one_line(found.device) or 'no name'}).")
