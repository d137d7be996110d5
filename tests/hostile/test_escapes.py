"""Every way out of a box, at every level, by the real supervisor, as the table says: m of m."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from fleet import config
from fleet.home import Home, make_home, task_json
from fleet.queue.protocol import Draft
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.sqlite import open_embedded
from fleet.sandbox.try_box import try_box
from fleet.schemas import Settings
from tests.conftest import missing, need
from tests.echoing_vendor import EchoingVendor
from tests.hostile.escape_table import LEVELS, NOT_OPEN_EVERYWHERE, STOPPED_AT

AGENT = Path(__file__).with_name("escapes.py")
CANARY = "canary-7b0e"
#: What a run's files hold of an agent that opened its streams again.
RECORDS = {
    "stdout": "forge_its_output",
    "stderr": "forge_its_output",
    "prompt.md": "rewrite_its_prompt",
}
SECURITY = Path(__file__).parents[2] / "docs/security.md"


class Machine:
    """A user with keys, a source repository, sockets, and one task a level."""

    def __init__(self, root, stack):
        self.root = root
        self.home = Home(root / "home")
        make_home(self.home)
        self.user = root / "user"
        for place in (".ssh", ".claude"):
            (self.user / place).mkdir(parents=True)
        (self.user / ".ssh/id_ed25519").write_text(CANARY)
        (self.user / ".bashrc").write_text("")
        login = {"claudeAiOauth": {"accessToken": "at", "refreshToken": CANARY}}
        (self.user / ".claude/.credentials.json").write_text(json.dumps(login))
        (self.user / ".claude/.credentials.json").chmod(0o600)
        self.source = root / "source"
        for words in (
            ["init", "-qb", "main", str(self.source)],
            ["-C", str(self.source), "status"],
        ):
            subprocess.run([need("git"), *words], check=True, capture_output=True)
        self.outside = root / "outside"
        self.outside.mkdir()
        self.other = root / "other account"
        self.other.mkdir()
        (self.other / ".credentials.json").write_text(CANARY)
        (self.other / ".credentials.json").chmod(0o600)
        self.bin = root / "bin"
        self.bin.mkdir()
        shutil.copy(AGENT, self.bin / "escapes.py")
        (self.bin / "claude").write_text(
            f"#!/bin/sh\nexec {sys.executable} -I -S {self.bin}/escapes.py\n"
        )
        (self.bin / "claude").chmod(0o755)
        self.stack = stack
        self.plan = {
            "canary": CANARY, "home": str(self.home.path), "outside": str(self.outside),
            "source": str(self.source), "other_account": str(self.other),
            "supervisor": 0, "abstract": f"@{CANARY}-{os.getpid()}",
        }  # fmt: skip
        self._listen()
        vendor = stack.enter_context(EchoingVendor())
        self.plan["vendor"] = f"127.0.0.1:{vendor.port}"
        self._configure()
        self.queue = open_embedded(self.home.path)
        self.ids = {}
        self.other_task = self._add("other", deferred=True)
        (self.home.task(self.other_task) / "artifacts").mkdir(parents=True, exist_ok=True)
        self.plan["writes"] = {name: str(path) for name, path in self._places().items()}
        for level in LEVELS:
            self.ids[level] = self._add(level)

    def _places(self):
        """Where an agent must not write; TASK is the id of its own."""
        tasks = self.home.tasks
        return {
            "write_outside": self.outside / "file",
            "write_through_a_link": Path("link/linked"),
            "write_the_users_home": self.user / ".bashrc",
            "write_hooks_of_the_source": self.source / ".git/hooks/post-merge",
            "write_config_of_the_source": self.source / ".git/config",
            "write_another_task": tasks / self.other_task / "artifacts/PLAN_AND_STATUS.md",
            "write_fleets_settings": self.home.path / "logging/note",
            "write_its_own_record": tasks / "TASK/runs/1/note",
            "write_what_its_cli_obeys": self.user / ".claude/CLAUDE.md",
            "write_what_its_cli_looks_for": self.user / ".claude/.config.json",
        }

    def _listen(self):
        """What an agent might connect to: each answers with the canary."""
        lines = [
            (socket.AF_UNIX, str(self.outside / "docker.sock")),
            (socket.AF_UNIX, "\0" + self.plan["abstract"][1:]),
            (socket.AF_INET, ("127.0.0.1", 0)),
        ]
        for family, address in lines:
            line = self.stack.enter_context(socket.socket(family))
            line.bind(address)
            line.listen()
            threading.Thread(target=answer, args=(line,), daemon=True).start()
        self.plan["port"] = line.getsockname()[1]
        datagrams = self.stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        self.plan["datagrams"] = datagrams.getsockname()[1]
        threading.Thread(target=echo, args=(datagrams,), daemon=True).start()

    def _configure(self):
        text = config.default_text(coder="claude", max_concurrent=3, retry_limit=1, grace_s=1)
        for level in LEVELS:
            text += f'\n[projects."{self.root / level}"]\nsandbox = "{level}"\n'
        text += f'\n[accounts.other]\ncoder = "claude"\ndirectory = "{self.other}"\nweight = 0\n'
        text += '\n[accounts.mine]\ncoder = "claude"\nsecret = "env:MINE"\n'
        text += f'variable = "ANTHROPIC_API_KEY"\ndirectory = "{self.user}/.claude"\n'
        self.home.config.write_text(text)

    def _add(self, name, *, deferred=False):
        project = self.root / name
        project.mkdir()
        (project / "link").symlink_to(self.outside)
        settings = Settings(cwd=str(project), coder="claude", model="sonnet")
        with self.queue.db.writing():
            task = self.queue.add(Draft(title=name))
            task_json.write(self.home, task.id, settings)
        if deferred:
            edit(self.queue, task.id, Change(status="deferred"), actor="test")
        return task.id

    def run(self):
        env = {
            **os.environ,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.user),
            "FLEET_HOME": str(self.home.path),
            "MINE": CANARY,
            "ANTHROPIC_BASE_URL": f"http://{self.plan['vendor']}",
        }  # fmt: skip
        (self.root / "screen").touch()
        with (self.root / "screen").open("ab") as screen:
            supervisor = subprocess.Popen(
                ["sh", "-c", 'echo $$ > "$0"; read go; exec "$@"', str(self.root / "pid"),
                 sys.executable, "-m", "fleet", "run", "--until-idle"],
                env=env, cwd=self.root, stdin=subprocess.PIPE, stdout=screen, stderr=screen,
            )  # fmt: skip
            self.plan["supervisor"] = supervisor.pid
            for level in LEVELS:
                (self.root / level / "plan.json").write_text(json.dumps(self.plan))
            supervisor.communicate(b"go\n", timeout=110)
        return self

    def reached(self, level):
        """The ways that led out, by the agent's word and by what is to be seen outside."""
        told = json.loads((self.root / level / "reached.json").read_text())
        assert told.keys() == STOPPED_AT.keys()
        reached = {name for name, led in told.items() if led}
        mark = f"{CANARY}-{level}"
        for name, place in self._places().items():
            path = Path(str(self.root / level / place).replace("TASK", self.ids[level]))
            reached |= {name} if path.exists() and mark in path.read_text() else set()
        run = self.home.task(self.ids[level]) / "runs/1"
        for name, way in RECORDS.items():
            reached |= {way} if "forged" in (run / name).read_text() else set()
        task = self.home.task(self.ids[level])
        records = [path for path in task.rglob("*") if path.is_file() and path.suffix != ".db"]
        # The agent without a box writes into the records of the others too.
        if any(f"appended by {level}\n".encode() in path.read_bytes() for path in records):
            reached.add("write_through_any_descriptor")
        branches = subprocess.run(
            ["git", "-C", str(self.source), "branch"], capture_output=True, text=True, check=True
        ).stdout
        reached |= {"push_by_force"} if mark in branches else set()
        return reached | ({"outlive_its_run"} if self._lives_on(level) else set())

    def _lives_on(self, level):
        """A process of the run still works in its directory."""
        here = str(self.root / level)
        return any(each.info["cwd"] == here for each in psutil.process_iter(["cwd"]))


def answer(line):
    while True:
        try:
            with line.accept()[0] as client:
                client.sendall(CANARY.encode())
        except OSError:
            return


def echo(line):
    while True:
        try:
            data, sender = line.recvfrom(100)
            line.sendto(data, sender)
        except OSError:
            return


@pytest.mark.timeout(150)
def test_each_way_out_is_stopped_at_the_levels_that_promise_it(tmp_path):
    """Off, workspace and strict side by side; what a level does not stop is in the table too."""
    if not try_box(os.environ).works:
        missing("bwrap")
    with ExitStack() as stack:
        machine = Machine(tmp_path, stack).run()
        machine.queue.close()
        wrong = {}
        for level in LEVELS:
            reached = machine.reached(level)
            stopped = {name for name, levels in STOPPED_AT.items() if level in levels}
            open_ = STOPPED_AT.keys() - stopped - NOT_OPEN_EVERYWHERE
            if found := (reached & stopped) | (open_ - reached):
                wrong[level] = sorted(found)
        assert wrong == {}, (machine.root / "screen").read_text()
        assert (
            json.loads((tmp_path / "strict/reached.json").read_text()).keys() == STOPPED_AT.keys()
        )


def test_the_page_says_what_the_table_says():
    """docs/security.md promises what the corpus shows, way by way and level by level."""
    told = {}
    for line in SECURITY.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0].replace(" ", "_") in STOPPED_AT:
            levels = zip(LEVELS, cells[2:5], strict=True)
            stops = tuple(level for level, word in levels if word == "stopped")
            told[cells[0].replace(" ", "_")] = stops
    assert told == dict(STOPPED_AT)
