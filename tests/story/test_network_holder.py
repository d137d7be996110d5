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
        server = ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
        server.asked = []
        if encrypted:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate(tmp_path))
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
    settings = {"hosts": hosts, "marks": {"KEY": "kept-outside-1"}, "vendor": vendor}
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
