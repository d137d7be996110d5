"""The page's server: what an update costs with 500 running tasks, of which 50 change each half
second, and what the server costs while no client looks.

The tasks are leased and their runs have the files that a supervisor writes; only agents are
missing, since 500 of them would cost more than what is measured. The server is `fleet web` as a
user has it, and ten clients read its stream.

python -m tests.bench web
"""

import fcntl
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import psutil

from fleet.control import opened
from fleet.control.page.session_store import AT_ONCE, SessionStore
from fleet.home import Home, owner_file
from fleet.processes import process_identity
from fleet.processes.keeper import LOCK_FD
from fleet.processes.supervisor_lock import LOCK, Holder
from fleet.queue.protocol import Draft
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run, RunSpec, Started, new_run
from fleet.runs.run_id import RunId
from tests.bench import Figure

RUNNING, CHANGED, PAUSE, CLIENTS = 500, 50, 0.5, 10
SECONDS, IDLE_SECONDS = 20.0, 30.0
_UPDATE_GOAL_MS, _IDLE_GOAL = 1.0, 0.1
_INPUT = os.pipe()


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-web-") as folder:
        env = {**os.environ, "FLEET_HOME": f"{folder}/home", "HOME": folder}
        subprocess.run([sys.executable, "-m", "fleet", "init", "--queue", "embedded"], env=env,
                       check=True, capture_output=True)  # fmt: skip
        home = Home(Path(folder) / "home")
        runs = _running(home, env)
        with _server(env) as (process, port):
            yield from _updates(home, runs, process, port)
            yield _idle(process)


def _running(home: Home, env: dict[str, str]) -> list[Run]:
    """Tasks that this process leases, each with a run that lives: this process stands for the
    supervisor, and a shell that waits for each keeper.
    """
    fleet = opened(env)
    me = process_identity.identify(os.getpid())
    assert me is not None
    for number in range(RUNNING):
        fleet.queue.add(Draft(title=f"Part {number} of the parser, with its tests"))
    owner = "fleet-bench"
    (home.path / owner_file.FILE).write_text(owner)
    holder = Holder(who=me, since=datetime.now(UTC))
    (home.path / LOCK).write_bytes(msgspec.json.encode(holder))
    leases = fleet.queue.claim(owner, count=RUNNING, ttl=timedelta(hours=1))
    runs: list[Run] = []
    now = datetime.now(UTC)
    for lease in leases:
        spec = RunSpec(id=str(RunId.of(lease)), argv=("true",), cwd="/", coder="claude")
        run = new_run(home.task(lease.task.id), spec)
        keeper = process_identity.identify(_stand_in(run))
        assert keeper is not None
        started = Started(keeper=keeper, agent=keeper, at=now, monotonic=time.monotonic())
        (run.path / "started").write_bytes(msgspec.json.encode(started))
        progress_json.write(run, Progress(coder="claude", model="sonnet"))
        runs.append(run)
    fleet.close()
    return runs


def _stand_in(run: Run) -> int:
    """A process that looks like the run's keeper: its arguments name the run, and it holds the
    task's lock. It ends with this one, which holds the other end of its input.
    """
    lock = os.open(run.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    actions = [(os.POSIX_SPAWN_DUP2, _INPUT[0], 0), (os.POSIX_SPAWN_DUP2, lock, LOCK_FD)]
    argv = ["sh", "-c", "read line", "keeper", str(run.path)]
    pid = os.posix_spawn("/bin/sh", argv, os.environ, file_actions=actions)
    os.close(lock)
    return pid


@contextmanager
def _server(env: dict[str, str]) -> Iterator[tuple[psutil.Process, int]]:
    web = subprocess.Popen([sys.executable, "-m", "fleet", "web", "--no-open"], env=env,
                           stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert web.stdout is not None
        first = web.stdout.readline()
        port = int(first.rpartition("127.0.0.1:")[2].partition("/")[0])
        yield psutil.Process(web.pid), port
    finally:
        web.terminate()
        web.wait(10)


class _Client:
    """Reads the stream and counts its lines."""

    def __init__(self, port: int, key: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/api/v1/stream", headers={"Authorization": f"Bearer {key}"})
        self._socket = connection.sock
        self._answer = connection.getresponse()
        self.deltas = self.rows = 0
        self.ready = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._answer:
                told = json.loads(line)
                self.ready.set()
                if told["type"] == "delta":
                    self.deltas += 1
                    self.rows += len(told["rows"])
        except (OSError, ValueError):
            pass

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)


def _updates(home: Home, runs: list[Run], web: psutil.Process, port: int) -> Iterator[Figure]:
    store = SessionStore(home, lambda: datetime.now(UTC))
    found = [store.exchange(store.new_code("view", AT_ONCE), "bench") for _ in range(CLIENTS)]
    clients = [_Client(port, pair[0]) for pair in found if pair is not None]
    for client in clients:
        assert client.ready.wait(60)
    time.sleep(2)
    before, began = _cpu(web), time.monotonic()
    counted = [client.deltas for client in clients]
    turn = 0
    while time.monotonic() - began < SECONDS:
        for number in range(CHANGED):
            run = runs[(turn * CHANGED + number) % len(runs)]
            step = f"Bash: pytest -q tests/test_{turn}_{number}.py"
            progress_json.write(run, Progress(
                coder="claude", model="sonnet", events=turn, tool_calls=turn, tokens=turn * 900,
                context_tokens=turn * 100, context_window=200_000, last_step=step,
                last_event_at=datetime.now(UTC)))  # fmt: skip
        turn += 1
        time.sleep(max(0.0, began + turn * PAUSE - time.monotonic()))
    time.sleep(0.5)
    spent = _cpu(web) - before
    sent = sum(client.deltas - first for client, first in zip(clients, counted, strict=True))
    rows = clients[0].rows
    for client in clients:
        client.close()
    each = 1000 * spent / max(1, sent)
    detail = f"{spent:.2f} s for {sent} updates of {CLIENTS} clients, {rows} rows to each"
    yield Figure(
        "web: CPU an update and client, ms", each, _UPDATE_GOAL_MS, at_most=True, detail=detail
    )


def _idle(web: psutil.Process) -> Figure:
    time.sleep(8)  # the reader ends after its last client
    before = _cpu(web)
    time.sleep(IDLE_SECONDS)
    share = 100 * (_cpu(web) - before) / IDLE_SECONDS
    memory = web.memory_info().rss / (1 << 20)
    detail = f"{IDLE_SECONDS:.0f} s without a client, {memory:.0f} MB"
    name = "web: share of a core while no client looks, %"
    return Figure(name, share, _IDLE_GOAL, at_most=True, detail=detail)


def _cpu(web: psutil.Process) -> float:
    times = web.cpu_times()
    return times.user + times.system
