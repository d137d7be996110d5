"""A vendor on 127.0.0.1 that repeats each request in the framing that the path names."""

import gzip
import socket
import threading
from urllib.parse import urlsplit


class EchoingVendor:
    """Use as a context. `/chunks/N`, `/pieces/N`, `/gzip`, `/partial/N` and `/close` choose how the
    answer is sent; every other path gets a body of a known length.
    """

    def __init__(self):
        self._line = socket.create_server(("127.0.0.1", 0))
        self.port = self._line.getsockname()[1]
        #: The heads that came.
        self.heads = []
        self._server = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._server.start()
        return self

    def __exit__(self, *_):
        # Closing wakes no `accept`, which would take the clients of a later server with the same
        # descriptor.
        self._line.shutdown(socket.SHUT_RDWR)
        self._server.join()
        self._line.close()

    def _serve(self):
        while True:
            try:
                client, _ = self._line.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client):
        head = b""
        with client:
            while b"\r\n\r\n" not in head and (more := client.recv(65536)):
                head += more
            head = head.partition(b"\r\n\r\n")[0]
            self.heads.append(head)
            path = urlsplit(head.split(b" ")[1].decode()).path
            kind, _, number = path.strip("/").partition("/")
            try:
                send(client, kind, int(number) if number.isdecimal() else 0, head)
            except (BrokenPipeError, ConnectionResetError):
                return


def send(client, kind, number, head):
    said = b"HTTP/1.1 400 Bad Request\r\nx-you-said: " + head.replace(b"\r\n", b" | ") + b"\r\n"
    match kind:
        case "chunks":
            client.sendall(said + b"Transfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(head), number):
                piece = head[at : at + number]
                client.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            client.sendall(b"0\r\n\r\n")
        case "pieces":
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            whole = said + b"Content-Length: %d\r\n\r\n" % len(head) + head
            for at in range(0, len(whole), number):
                client.sendall(whole[at : at + number])
        case "gzip":
            body = gzip.compress(head)
            fields = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
            client.sendall(b"HTTP/1.1 200 OK\r\n" + fields + body)
        case "partial":
            fields = b"Content-Range: bytes 0-39/99\r\n\r\n"
            client.sendall(b"HTTP/1.1 206 Partial\r\n" + fields + head[number : number + 40])
        case "close":
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + head)
        case _:
            client.sendall(said + b"Content-Length: %d\r\n\r\n" % len(head) + head)


def unchunked(data):
    """The body that was sent in these chunks, which are all of it."""
    text = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        if int(size, 16) == 0:
            assert data == b"\r\n"
            return text
        text, data = text + data[: int(size, 16)], data[int(size, 16) + 2 :]
