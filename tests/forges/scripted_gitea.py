"""A scripted forge that speaks Gitea's HTTP interface on loopback, as far as fleet asks it."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from tests.forges.state import WRITERS, ForgeState

TOKEN = "scripted-token-0001"


class _Face(BaseHTTPRequestHandler):
    state: ForgeState
    site: str
    #: What the next requests are answered with, whatever they ask.
    broken: list[int]

    def log_message(self, *args):
        pass

    def do_GET(self):
        self._answer("GET", {})

    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        self._answer("POST", json.loads(self.rfile.read(size) or b"{}"))

    def _answer(self, method, body):
        path = unquote(urlsplit(self.path).path)
        with self.state.changing() as known:
            known["asked"].append(f"{method} {path}")
        if self.broken:
            status, found = self.broken.pop(0), {"message": "out of order"}
        elif self.headers.get("Authorization") != f"token {TOKEN}":
            status, found = 401, {"message": "token is required"}
        else:
            status, found = self._found(method, path.removeprefix("/api/v1/repos/team/app/"), body)
        data = json.dumps(found).encode() if found is not None else b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _found(self, method, path, body):
        state = self.state
        if method == "POST" and path == "pulls":
            return 201, self._pull(
                state.open(body["head"], body["base"], body["title"], body["body"])
            )
        if found := re.fullmatch(r"pulls/(\d+)/merge", path):
            return self._merge(int(found[1]), body)
        if found := re.fullmatch(r"pulls/(\d+)", path):
            pull = state.pull(int(found[1]))
            return (200, self._pull(pull)) if pull else (404, {"message": "not found"})
        if found := re.fullmatch(r"pulls/(\d+)/reviews", path):
            return 200, self._reviews(int(found[1]))
        if found := re.fullmatch(r"pulls/(\d+)/reviews/(\d+)/comments", path):
            return 200, self._remarks(int(found[1]), int(found[2]))
        if found := re.fullmatch(r"pulls/([^/]+)/(.+)", path):
            made = [
                each for each in state.read()["pulls"].values()
                if (each["base"], each["branch"]) == (found[1], found[2])
            ]  # fmt: skip
            return (200, self._pull(made[-1])) if made else (404, {"message": "not found"})
        if found := re.fullmatch(r"commits/([0-9a-f]+)/status", path):
            return 200, {"state": "", "statuses": self._statuses(found[1])}
        if found := re.fullmatch(r"collaborators/([^/]+)/permission", path):
            return 200, {"permission": "write" if found[1] in WRITERS else "read"}
        return 404, {"message": "not found"}

    def _pull(self, pull):
        return {
            "number": pull["number"],
            "html_url": f"{self.site}/team/app/pulls/{pull['number']}",
            "state": "open" if pull["state"] == "open" else "closed",
            "merged": pull["state"] == "merged",
            "mergeable": pull["state"] == "open" and self.state.mergeable(pull),
            "draft": False,
            "head": {"ref": pull["branch"], "sha": pull["head"]},
            "base": {"ref": pull["base"]},
            "merge_commit_sha": pull["merge_commit"] or None,
            "updated_at": str(len(self.state.read()["remarks"] + self.state.read()["reviews"])),
        }

    def _merge(self, number, body):
        pull = self.state.pull(number)
        if pull["state"] != "open":
            return 405, {"message": "The PR is already merged"}
        if pull["head"] != body["head_commit_id"]:
            return 409, {"message": "head out of date"}
        if not self.state.mergeable(pull):
            return 405, {"message": "Please try again later"}
        self.state.merge(number, body["Do"])
        return 200, None

    def _reviews(self, number):
        known = self.state.read()
        states = {"approved": "APPROVED", "changes_requested": "REQUEST_CHANGES"}
        decided = [
            {"id": each["id"], "state": states[each["state"]], "body": each["text"],
             "user": {"login": each["author"]}, "comments_count": 0}
            for each in known["reviews"] if each["number"] == number
        ]  # fmt: skip
        spoken = [
            {"id": each["id"], "state": "COMMENT", "body": "", "user": {"login": each["author"]},
             "comments_count": 1}
            for each in known["remarks"] if each["number"] == number
        ]  # fmt: skip
        return [*spoken, *decided]

    def _remarks(self, number, review):
        return [
            {"id": each["id"], "body": each["text"], "path": each["path"], "position": each["line"],
             "original_position": 0, "user": {"login": each["author"]},
             "resolver": None if each["open"] else {"login": each["author"]}}
            for each in self.state.read()["remarks"]
            if (each["number"], each["id"]) == (number, review)
        ]  # fmt: skip

    def _statuses(self, commit):
        states = {"passed": "success", "failed": "failure", "running": "pending"}
        return [
            {"context": each["name"], "status": states[each["state"]], "description": each["text"],
             "target_url": ""}
            for each in self.state.statuses(commit)
        ]  # fmt: skip


@contextmanager
def scripted_gitea(state: ForgeState):
    """The address of a forge with the repository `team/app`, and what to break it with."""
    face = type("Face", (_Face,), {"state": state, "site": "", "broken": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), face)
    face.site = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield face
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
