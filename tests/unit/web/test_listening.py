"""Where the page is offered: a Unix socket, TLS, behind a proxy; and what is refused."""

import http.client
import re
import socket
import ssl
import stat
import subprocess
import threading
from contextlib import contextmanager

import pytest
import segno
from click.testing import CliRunner

from fleet import config
from fleet.cli.demo import DemoPage
from fleet.cli.inspect.web import command, qr_lines
from fleet.control.page.page_address import last_address, live_address
from fleet.control.page.session_store import AT_ONCE, SessionStore
from fleet.errors import BadInput, FleetError
from fleet.home import Home, make_home
from fleet.web.serve import SOCKET, Listening, check, start
from tests.conftest import need
from tests.unit.web.conftest import Page, now


@pytest.fixture
def offered(tmp_path):
    """Offers the page of a home, somewhere."""
    home = Home(tmp_path / "home")
    make_home(home)
    home.config.write_text(config.default_text(queue="embedded"))

    @contextmanager
    def offer(**where):
        page = Page(home, where=Listening(**where))
        try:
            yield page
        finally:
            page.close()

    return offer


def key_of(page):
    key, _ = page.store.exchange(page.store.new_code("view", AT_ONCE), "a test")
    return key


def status(connection, host, key=""):
    """What the server answers to a question for *now*."""
    head = {"Host": host, **({"Authorization": f"Bearer {key}"} if key else {})}
    try:
        connection.request("GET", "/api/v1/now", headers=head)
        return connection.getresponse().status
    finally:
        connection.close()


class OverSocket(http.client.HTTPConnection):
    """What ssh makes of a connection to the forwarded port."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        self.sock.connect(self._path)


def test_the_page_is_offered_on_a_socket_that_only_its_owner_reaches(offered):
    """By whatever port ssh maps it to, and never to another name; a dead one is replaced."""
    with offered(socket=True) as page:
        path = page.home.path / SOCKET
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(FleetError, match="another page is offered"):
            start(page.reopen, page.store, Listening(socket=True))
        key = key_of(page)
        assert status(OverSocket(path), "localhost:7373", key) == 200
        assert status(OverSocket(path), "127.0.0.1:9999", key) == 200
        assert status(OverSocket(path), "localhost:7373") == 401
        assert status(OverSocket(path), "evil.example:7373", key) == 421
    assert path.exists()
    with offered(socket=True) as page:
        assert status(OverSocket(path), "localhost:7373", key) == 200


@pytest.fixture
def certificate(tmp_path):
    """A certificate for box.example, signed by itself, and its key."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=box.example", "-keyout", key, "-out", cert,
         "-addext", "subjectAltName=DNS:box.example"],
        check=True, capture_output=True,
    )  # fmt: skip
    return str(cert), str(key)


def test_another_host_is_served_by_tls_under_its_name_alone(offered, certificate):
    """The certificate is believed, plain HTTP gets nothing, and other names are refused."""
    cert, key = certificate
    with offered(host="0.0.0.0", allowed=("box.example",), cert=cert, key=key) as page:
        port = page.server.port
        assert page.server.address == f"https://box.example:{port}" == last_address(page.home)
        trusts = ssl.create_default_context(cafile=cert)

        def over_tls():
            found = http.client.HTTPSConnection("box.example", port, timeout=30, context=trusts)
            found._create_connection = lambda *_, **__: socket.create_connection(
                ("127.0.0.1", port), 30
            )
            return found

        session = key_of(page)
        assert status(over_tls(), f"box.example:{port}", session) == 200
        assert status(over_tls(), f"box.example:{port}") == 401
        assert status(over_tls(), "other.example", session) == 421
        with pytest.raises((OSError, http.client.HTTPException)):
            status(http.client.HTTPConnection("127.0.0.1", port, timeout=30), "box.example")


def test_behind_a_proxy_only_the_proxy_is_answered(offered):
    """It has TLS and the name; a request that goes round it is refused."""
    with offered(proxy="127.0.0.2", allowed=("fleet.example",)) as page:
        assert page.server.address == "https://fleet.example"
        session = key_of(page)

        def comes_from(address):
            return http.client.HTTPConnection(
                "127.0.0.1", page.server.port, timeout=30, source_address=(address, 0)
            )

        assert status(comes_from("127.0.0.2"), "fleet.example", session) == 200
        assert status(comes_from("127.0.0.1"), "fleet.example", session) == 403


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"host": "0.0.0.0"}, "without the name"),
        ({"host": "::"}, "without the name"),
        ({"host": "192.0.2.1", "allowed": ("box",)}, "without TLS"),
        ({"host": "192.0.2.1", "allowed": ("box",), "cert": "c"}, "go together"),
        ({"key": "k"}, "go together"),
    ],
)
def test_nothing_is_opened_to_others_unprotected(where, why):
    """Another address needs its name, and TLS or a proxy that has it."""
    with pytest.raises(BadInput, match=why):
        check(Listening(**where))


def test_a_certificate_that_is_none_is_told_of(offered, tmp_path):
    """Before the page is offered, as an error and not as a stack."""
    (tmp_path / "c").write_text("no certificate")
    with (
        pytest.raises(FleetError, match="certificate"),
        offered(cert=str(tmp_path / "c"), key=str(tmp_path / "c")),
    ):
        pass


def test_pairing_prints_the_address_and_says_where_no_phone_reaches_it(offered):
    """On this machine's own address a phone could not use it, and the person is told so."""
    found = CliRunner()
    with offered() as page:
        env = {"FLEET_HOME": str(page.home.path)}
        said = found.invoke(command, ["pair"], env=env).output
        assert f"  {page.server.address}/#once=" in said
        assert "this machine's own" in said
    with offered(proxy="127.0.0.2", allowed=("fleet.example",)) as page:
        said = found.invoke(command, ["pair", "--role", "view"], env=env).output
        assert "  https://fleet.example/#once=" in said
        assert "█" not in said  # no terminal: the address alone
        (code,) = re.findall(r"#once=(\S+)", said)
        _, session = page.store.exchange(code, "a phone")
        assert session.role == "view"


def test_a_second_page_leaves_the_first_ones_address_and_port(offered):
    """The browser of the first and `fleet web pair` go on with it; its files are its owner's."""
    with offered() as page:
        web = page.home.path / "web"
        before = [(web / name).read_text() for name in ("address", "port")]
        assert {stat.S_IMODE((web / name).stat().st_mode) for name in ("address", "port")} == {
            0o600
        }
        with offered() as second:
            assert second.server.port != page.server.port
            assert [(web / name).read_text() for name in ("address", "port")] == before
        assert live_address(page.home) == page.server.address
    assert live_address(page.home) == ""


def test_no_device_is_paired_with_a_page_that_has_ended(offered):
    """The address of a dead server helps no person; the way on is named."""
    with offered() as page:
        env = {"FLEET_HOME": str(page.home.path)}
    said = CliRunner().invoke(command, ["pair"], env=env)
    assert isinstance(said.exception, FleetError)
    assert "fleet web" in said.exception.hint


def test_a_qr_code_has_the_modules_of_its_text_dark_on_light():
    """Two rows of modules a line, with the margin that a camera needs."""
    text = "https://fleet.example/#once=" + "x" * 43
    lines = [line.removeprefix("\x1b[30;107m").removesuffix("\x1b[0m") for line in qr_lines(text)]
    dark = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}
    rows = [[dark[each][half] for each in line] for line in lines for half in (0, 1)]
    made = segno.make(text, error="l", micro=False, boost_error=False)
    wanted = [list(map(int, row)) for row in made.matrix_iter(border=2)]
    assert rows[: len(wanted)] == wanted
    assert len({len(line) for line in lines}) == 1


def test_the_last_line_of_the_demo_opens_its_page(tmp_path, monkeypatch, capsys):
    """Its first address scrolled away and its code was over; Ctrl-C ends the page."""
    home = Home(tmp_path / "home")
    make_home(home)
    home.config.write_text(config.default_text(queue="embedded"))
    page = DemoPage({"FLEET_HOME": str(home.path)}, lambda text, style: None)
    page.follow(lambda rows: None)(())
    real_join = threading.Thread.join

    def seen_enough(thread, timeout=None):
        monkeypatch.setattr(threading.Thread, "join", real_join)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", seen_enough)
    page.stay()
    last = capsys.readouterr().out.splitlines()[-1].strip()
    address, _, code = last.partition("/#once=")
    assert address == last_address(home)
    assert SessionStore(home, now).exchange(code, "a browser") is not None
