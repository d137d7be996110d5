"""A vendor of models on 127.0.0.1 whose accounts have windows, for the stand-in of claude."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Login:
    """What one account has: so many turns a window, which begins with its first use."""

    def __init__(self, turns, seconds, *, refuses=0, until=0.0, rate=0.0):
        self.turns, self.seconds = turns, seconds
        #: A status that answers everything, whatever is left.
        self.refuses = refuses
        #: Everything is refused until then, as if the window had been used up before.
        self.used, self.ends = (turns, until) if until else (0, 0.0)
        #: Turns a second; more are throttled.
        self.rate = rate
        self._recent = []

    def ask(self, now):
        """The status and the words of an answer."""
        if self.refuses:
            return self.refuses, {}
        if now >= self.ends:
            self.used, self.ends = 0, now + self.seconds
        if self.used >= self.turns:
            return 429, {"resets": self.ends, "error": "used up"}
        self._recent = [at for at in self._recent if now - at < 1]
        if self.rate and len(self._recent) >= self.rate:
            return 429, {"error": "too many requests"}
        self._recent.append(now)
        self.used += 1
        return 200, {"used": self.used / self.turns, "resets": self.ends}


class Vendor:
    """Use as a context: the server lives inside it."""

    def __init__(self, logins, *, turns=2, pause=0.0):
        self.logins, self.turns, self.pause = logins, turns, pause
        #: Every request: when, by which login, for which task, and the status of its answer.
        self.asked = []
        self.done = Counter()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.request_queue_size = 128
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, body):
        with self._lock:
            now = time.time()
            status, words = self.logins[body["login"]].ask(now)
            self.asked.append((now, body["login"], body["task"], status))
            self.done[body["task"]] += status == 200
            words["last"] = self.done[body["task"]] >= self.turns
        if status == 200:
            time.sleep(self.pause)
        return status, words


def _handler(vendor):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, words = vendor.answer(body)
            data = json.dumps(words).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
