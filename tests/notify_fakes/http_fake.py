"""A small HTTP server in a thread: a fake gives it one function that answers."""

import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class HttpFake:
    """Serves until it is closed. `answer(method, path, body)` returns a status and a value."""

    def __init__(self):
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                if len(body) < length:  # the client was killed as it asked
                    self.close_connection = True
                    return
                status, value = fake.answer(self.command, self.path, body.decode())
                data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
                with suppress(OSError):  # the client may have given up
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

            do_GET = do_POST = _serve  # noqa: N815 - the names are the library's

            def log_message(self, *words):
                pass

        self.changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, method, path, body):
        raise NotImplementedError

    def until(self, fact, patience=30):
        """Wait for a fact about what was sent; what the fact returned."""
        with self.changed:
            assert self.changed.wait_for(fact, patience), "waited in vain"
            return fact()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
