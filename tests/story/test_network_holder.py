"""The process that holds a strict box, without a box: where it leads, and which keys it adds."""

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import fleet.sandbox
from tests.conftest import need
from tests.echoing_vendor import EchoingVendor, unchunked

HERE = Path(fleet.sandbox.__file__).parent
PYTHON = (sys.executable, "-I", "-S")
#: Asks the proxy for each address of the arguments, with the key of the environment.
CLIENT = """
import os, socket, sys
for address in sys.argv[2:]:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as line:
        words = f"GET {address} HTTP/1.1\\r\\nHost: x\\r\\nx-key: {os.environ['KEY']}\\r\\n\\r\\n"
        line.sendall(words.encode())
        line.shutdown(socket.SHUT_WR)
        print(line.makefile("rb").read().decode())
"""


class Vendor(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["x-key"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the vendor's words")

    def log_message(self, *_):
        pass


@pytest.fixture
def serve(tmp_path):
    """Starts hosts on this machine, encrypted or not; each has a list of what it was asked."""
    servers = []

    def begin(*, encrypted=False):
        if encrypted:  # first: without openssl the test is skipped here
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate(tmp_path))
        server = ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
        server.asked = []
        if encrypted:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread))
        return server

    yield begin
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def certificate(folder):
    """A key and a certificate for localhost, in one file."""
    both = folder / "both.pem"
    words = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    )
    subject = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        [need("openssl"), *words.split(), *subject, "-keyout", both, "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_bytes(both.read_bytes() + (folder / "cert.pem").read_bytes())
    return both


def ask(*addresses, hosts, vendor="", encrypted=False, **env):
    """What a client behind the holder gets for each address; and the holder's own words."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    keys = {"KEY": {"mark": "kept-outside-1", "header": "x-key"}}
    settings = {"hosts": hosts, "keys": keys, "vendor": vendor}
    client = (*PYTHON, "-c", CLIENT, str(port), *addresses)
    argv = (
        *PYTHON, str(HERE / "network_holder.py"), json.dumps({**settings, "encrypted": encrypted}),
        *PYTHON, str(HERE / "hand_over.py"), "98", str(port), *client,
    )  # fmt: skip
    done = subprocess.run(
        argv, env={**os.environ, "KEY": "the-real-key", **env}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_vendor_alone_gets_the_key(serve):
    """Another allowed host gets the mark, and a host that is not named gets nothing."""
    vendor, other, stranger = serve(), serve(), serve()
    places = [f"127.0.0.1:{server.server_port}" for server in (vendor, other, stranger)]
    out, err = ask(*(f"http://{place}/v1" for place in places), hosts=places[:2], vendor=places[0])
    assert vendor.asked == [("/v1", "the-real-key")]
    assert other.asked == [("/v1", "kept-outside-1")]
    assert stranger.asked == []
    assert out.count("the vendor's words") == 2
    assert "403" in out
    assert "is not among the hosts of this box" in err
    assert "the-real-key" not in out


def test_a_request_with_a_key_goes_on_encrypted(serve, tmp_path):
    """The box speaks without encryption to the holder, and the holder with it to the vendor."""
    vendor = serve(encrypted=True)
    place = f"localhost:{vendor.server_port}"
    out, err = ask(
        f"http://{place}/v1", hosts=[place], vendor=place, encrypted=True,
        SSL_CERT_FILE=str(tmp_path / "cert.pem"),
    )  # fmt: skip
    assert vendor.asked == [("/v1", "the-real-key")], err
    assert "the vendor's words" in out


def test_an_encrypted_vendor_must_be_the_vendor(serve):
    """A certificate that no authority signed ends the request before the key is sent."""
    vendor = serve(encrypted=True)
    place = f"localhost:{vendor.server_port}"
    out, _ = ask(f"http://{place}/v1", hosts=[place], vendor=place, encrypted=True)
    assert vendor.asked == []
    assert "502" in out


@pytest.mark.parametrize(
    "address", ["/v1", "https://127.0.0.1/", "http://", "http://127.0.0.1:x/", "ftp://a/"]
)
def test_what_is_no_request_to_a_proxy_is_refused(address):
    """Whatever is sent gets an answer and reaches no host."""
    out, err = ask(address, hosts=["127.0.0.1:1"])
    assert "403" in out
    assert "refused" in err


#: Sends each head of the arguments, with KEY in it, and prints what comes back.
SENDER = """
import os, socket, sys
for head in sys.argv[2:]:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as line:
        line.sendall(head.replace("KEY", os.environ["KEY"]).encode() + b"\\r\\n\\r\\n")
        print(line.makefile("rb").read().decode(errors="replace"))
        print("----")
"""
KEY = "sk-the-real-key-4242"


def send(vendor, *heads, header="x-key", file=""):
    """The answers to these heads behind the holder, with the mark in the place of KEY."""
    place = f"127.0.0.1:{vendor.port}"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    keys = {"KEY": {"mark": "kept-outside-1", "header": header, "file": str(file)}}
    settings = {"hosts": [place], "keys": keys, "vendor": place, "encrypted": False}
    whole = [head.replace("VENDOR", place) for head in heads]
    argv = (
        *PYTHON, str(HERE / "network_holder.py"), json.dumps(settings),
        *PYTHON, str(HERE / "hand_over.py"), "98", str(port),
        *PYTHON, "-c", SENDER, str(port), *whole,
    )  # fmt: skip
    done = subprocess.run(
        argv, env={**os.environ, "KEY": KEY}, stdout=subprocess.PIPE, timeout=60, check=True
    )
    return done.stdout.decode().split("\n----\n")[:-1]


@pytest.mark.parametrize(
    "head",
    [
        "GET http://VENDOR/v1/KEY HTTP/1.1\r\nHost: x",
        "GET http://VENDOR/v1?q=KEY HTTP/1.1\r\nHost: x",
        "GET http://VENDOR/v1 HTTP/1.1\r\nanthropic-beta: KEY",
        "GET http://VENDOR/v1 HTTP/1.1\r\nx-key: KEY and more",
        "GET http://VENDOR/v1 HTTP/1.1\r\nx-key: more KEY",
        "GET http://VENDOR/v1 HTTP/1.1\r\nx-key: xKEY",
        "GET http://VENDOR/v1 HTTP/1.1\r\nx-key: KEY\r\n and more",
        "GET http://VENDOR/v1 HTTP/1.1\r\nx-a: b\r\n KEY",
        "GET http://VENDOR/v1 HTTP/1.1\r\nKEY: value",
        "GET http://VENDOR/v1 HTTP/1.1\r\nx-a: b\nx-key: KEY",
        "GET http://VENDOR/v1 HTTP/1.1\r\nx-key : KEY",
        "GET http://VENDOR/v1 HTTP/1.1\r\nRange: bytes=KEY",
        "KEY http://VENDOR/v1 HTTP/1.1\r\nx-key: KEY",
    ],
)
def test_a_mark_anywhere_else_is_refused(head):
    """A vendor repeats paths and unknown headers in its errors: what it would repeat is refused,
    with a reason, and nothing is sent.
    """
    with EchoingVendor() as vendor:
        [answer] = send(vendor, head)
        assert answer.startswith("HTTP/1.1 400 ")
        assert "own header" in answer or "malformed" in answer
        assert vendor.heads == []
        assert KEY not in answer


def test_the_key_goes_out_in_the_declared_form_only():
    """With a scheme the key follows the scheme, and nothing else is taken for it."""
    asks = [
        f"GET http://VENDOR/v1 HTTP/1.1\r\n{line}"
        for line in (
            "Authorization: Bearer KEY", "authorization: bearer   KEY", "authorization: KEY",
            "x-api-key: KEY", "authorization: Basic KEY",
        )
    ]  # fmt: skip
    with EchoingVendor() as vendor:
        answers = send(vendor, *asks, header="authorization: Bearer")
        assert all("own header" in each for each in answers[2:])
        assert len(vendor.heads) == 2
        assert f"Authorization: Bearer {KEY}".encode() in vendor.heads[0]


@pytest.mark.parametrize(
    "path", ["", "close", *(f"{kind}/{n}" for kind in ("chunks", "pieces") for n in (1, 7, 19, 40))]
)
def test_an_answer_that_repeats_the_key_shows_the_mark(path):
    """In the head and in the body, wherever the vendor or the network cuts the answer."""
    with EchoingVendor() as vendor:
        ask = f"GET http://VENDOR/{path} HTTP/1.1\r\nx-key: KEY\r\nRange: bytes=0-9"
        [answer] = send(vendor, ask)
        assert KEY.encode() in vendor.heads[0]
        assert b"range" not in vendor.heads[0].lower()
        body = answer.partition("\r\n\r\n")[2]
        joined = unchunked(body.encode()).decode() if path.startswith("chunks") else body
        assert "x-key: kept-outside-1" in joined
        assert KEY not in answer
        assert KEY not in joined
        if path in ("", "pieces/7"):
            head = answer.partition("\r\n\r\n")[0]
            length = int(head.lower().partition("content-length: ")[2].split()[0])
            assert len(body) == length


@pytest.mark.parametrize("path", ["gzip", "partial/20"])
def test_an_answer_in_which_no_key_can_be_found_is_not_passed_on(path):
    """Compressed although that was not asked for, or a part of something."""
    with EchoingVendor() as vendor:
        [answer] = send(vendor, f"GET http://VENDOR/{path} HTTP/1.1\r\nx-key: KEY")
        assert answer.startswith("HTTP/1.1 502 ")
        assert "encoded or partial" in answer
        assert b"Accept-Encoding: identity" in vendor.heads[0]


def test_a_key_that_changes_during_the_run_is_read_at_each_request(tmp_path):
    """A login is refreshed outside while the box lives; what it was before stays masked."""
    file = tmp_path / "token"
    file.write_text("sk-the-first-token\n")
    with EchoingVendor() as vendor:
        [answer] = send(vendor, "GET http://VENDOR/ HTTP/1.1\r\nx-key: KEY", file=file)
        assert b"x-key: sk-the-first-token" in vendor.heads[0]
        assert "sk-the-first-token" not in answer
