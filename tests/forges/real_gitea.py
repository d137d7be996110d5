"""The real Gitea on loopback, as tools/install-gitea built it, with three people."""

import base64
import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from fleet.forge.rest import RestAnswer, RestClient
from tests.conftest import REQUIRED

_CACHES = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
_CACHE = Path(os.environ.get("FLEET_TOOL_CACHE", _CACHES / "fleet-tools")) / "gitea-v1.26.0"
_PATIENCE = 60.0
_SETTINGS = """\
RUN_MODE = prod
WORK_PATH = {root}
RUN_USER = {user}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = {root}/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = a-key-for-tests
PASSWORD_HASH_ALGO = pbkdf2$1$10
[repository]
ROOT = {root}/repositories
[log]
MODE = console
LEVEL = Error
[indexer]
ISSUE_INDEXER_TYPE = db
[actions]
ENABLED = false
[queue]
TYPE = channel
"""


def directory() -> Path:
    """Where Gitea is. It takes long to build, so that `all` does not ask for it: skip by name."""
    if not (_CACHE / "gitea").exists():
        if "gitea" in REQUIRED:
            pytest.fail("gitea is required here and missing")
        pytest.skip("gitea is not built: tools/install-gitea")
    return _CACHE


class RealGitea:
    """A running server."""

    def __init__(self, root: Path, port: int) -> None:
        self.root, self.site = root, f"http://127.0.0.1:{port}"
        self.tokens: dict[str, str] = {}

    def api(self, person: str) -> RestClient:
        return RestClient(self.site, "/api/v1", f"token {self.tokens[person]}")

    def ask(self, person: str, *words: str, body: object = None) -> object:
        api = self.api(person)
        answer = api.post(*words, body=body) if body is not None else api.get(*words)
        assert isinstance(answer, RestAnswer), answer
        assert answer.ok, answer.why
        return answer.body

    def change(self, person: str, method: str, *words: str, body: object = None) -> None:
        answer = self.api(person)._ask(method, words, "", body)
        assert isinstance(answer, RestAnswer), answer
        assert answer.ok, answer.why

    def run(self, *args: str) -> str:
        done = subprocess.run(
            [_CACHE / "gitea", "--config", self.root / "app.ini", *args],
            env=_env(self.root), capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _env(root: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GITEA_WORK_DIR": str(root),
        "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": "true",
    }


@contextmanager
def real_gitea(root: Path):
    """A server with the people fleet, ann and stranger; it ends with the block."""
    static = directory() / "static"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    root.mkdir(parents=True)
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    text = _SETTINGS.format(root=root, user=user, port=port, static=static)
    (root / "app.ini").write_text(text)
    server = RealGitea(root, port)
    server.run("migrate")
    for name in ("fleet", "ann", "stranger"):
        person = ("--username", name, "--password", "a-pass-word", "--email", f"{name}@example.org")
        server.run("admin", "user", "create", *person, "--must-change-password=false")
        ask = ("--username", name, "--scopes", "all", "--raw")
        server.tokens[name] = server.run("admin", "user", "generate-access-token", *ask).split()[-1]
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(
            [_CACHE / "gitea", "--config", root / "app.ini", "web"],
            env=_env(root), stdout=log, stderr=log, cwd=root,
        )  # fmt: skip
        try:
            _wait(server, process)
            yield server
        finally:
            process.terminate()
            process.wait(30)
    shutil.rmtree(root, ignore_errors=True)


def _wait(server: RealGitea, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if isinstance(server.api("fleet").get("version"), RestAnswer):
            return
        time.sleep(0.05)
    pytest.fail(f"gitea does not begin: {(server.root / 'log').read_text()[-2000:]}")


class GiteaPeople:
    """What people and a CI do on the real Gitea, in one repository."""

    def __init__(self, server: RealGitea, name: str) -> None:
        self._server, self._repo = server, ("repos", "fleet", name)

    def check(self, commit: str, name: str, state: str, text: str = "") -> None:
        states = {"passed": "success", "failed": "failure", "running": "pending"}
        body = {"context": name, "state": states[state], "description": text}
        self._server.ask("fleet", *self._repo, "statuses", commit, body=body)

    def remark(self, number: int, author: str, path: str, line: int, text: str) -> str:
        body = {
            "event": "COMMENT",
            "comments": [{"path": path, "new_position": line, "body": text}],
        }
        pull = (*self._repo, "pulls", str(number), "reviews")
        made = self._server.ask(author, *pull, body=body)
        return str(self._server.ask(author, *pull, str(made["id"]), "comments")[0]["id"])

    def resolve(self, remark: str) -> None:
        self._server.ask("ann", *self._repo, "pulls", "comments", remark, "resolve", body={})

    def review(self, number: int, author: str, state: str, text: str = "") -> None:
        events = {"approved": "APPROVED", "changes_requested": "REQUEST_CHANGES"}
        body = {"event": events[state], "body": text}
        self._server.ask(author, *self._repo, "pulls", str(number), "reviews", body=body)

    def close(self, number: int) -> None:
        pull = (*self._repo, "pulls", str(number))
        self._server.change("ann", "PATCH", *pull, body={"state": "closed"})

    def merge(self, number: int) -> None:
        self._server.ask("ann", *self._repo, "pulls", str(number), "merge", body={"Do": "merge"})

    def push(self, branch: str, **files: str) -> str:
        """A commit of another person on a branch."""
        made: object = None
        for name, text in files.items():
            place = (*self._repo, "contents", name)
            known = self._server.api("ann")._ask("GET", place, f"ref={branch}", None)
            body = {"branch": branch, "content": base64.b64encode(text.encode()).decode()}
            if known.ok:
                body["sha"] = known.body["sha"]
            made = self._server.api("ann")._ask("PUT" if known.ok else "POST", place, "", body)
            assert made.ok, made.why
        return msgspec.to_builtins(made)["body"]["commit"]["sha"]
