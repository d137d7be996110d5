"""Runs `fleet` commands as processes of their own that need not import anything first.

Tests run hundreds of commands, and nine tenths of a command is Python's start. So the test
processes of one run share a server that has imported fleet, and fork it for every command: with an
environment, a directory and standard streams of its own. How a start from nothing goes is a fact of
its own: `cold` tests it, and takes over where the system cannot tell when a process ends.
"""

import array
import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

Words = Sequence[str | bytes]
Done = subprocess.CompletedProcess[bytes]

_ROOT = Path(__file__).parents[2]
#: More than this does not fit into one message to the server.
_LONGEST = 60_000


class Command:
    """A command that runs, with what `subprocess.Popen` offers of it."""

    def __init__(self, words: Words, told: socket.socket) -> None:
        self.args = words
        self.returncode: int | None = None
        self._told = told
        self.pid = int(told.recv(32) or b"0")
        assert self.pid, "the server is gone"

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended."""
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = int(self._told.recv(32))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0) from None
            self._told.close()
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def start(
    words: Words,
    *,
    env: Mapping[str, str],
    cwd: Path,
    streams: Sequence[Any],
    program: Path | None = None,
) -> Any:
    """Begin a command, or a program that imports fleet, with these files as standard streams."""
    argv = [os.fsdecode(word) for word in words]
    asked = {"argv": argv, "env": dict(env), "cwd": str(cwd), "program": str(program or "")}
    request = json.dumps(asked).encode()
    if len(request) > _LONGEST or not hasattr(os, "pidfd_open"):
        given, out, err = streams
        argv = [sys.executable, *([str(program)] if program else ["-m", "fleet"]), *argv]
        return subprocess.Popen(argv, cwd=cwd, env=env, stdin=given, stdout=out, stderr=err)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        fds = array.array("i", [theirs.fileno(), *(_fd(stream) for stream in streams)])
        _server().sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    return Command(words, ours)


def fleet(
    words: Words, *, env: Mapping[str, str], cwd: Path, timeout: float, stdin: bytes = b""
) -> Done:
    """One command to its end."""
    with ExitStack() as files:
        given, out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        command = start(words, env=env, cwd=cwd, streams=(given, out, err))
        try:
            code = command.wait(timeout)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def cold(
    words: Words, *, env: Mapping[str, str], cwd: Path, timeout: float, stdin: bytes = b""
) -> Done:
    """The same from nothing, as a shell starts it."""
    return subprocess.run(
        [sys.executable, "-m", "fleet", *words],
        cwd=cwd, env=env, input=stdin, capture_output=True, timeout=timeout, check=False,
    )  # fmt: skip


def _fd(stream: Any) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


@functools.cache
def _server() -> socket.socket:
    """Where to send commands to. The server ends once no test process holds such a socket."""
    name = "\0fleet-warm-" + os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    while True:
        _start_server(name)
        ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            ours.connect(name)
            if ours.recv(1):
                atexit.register(ours.close)
                return ours
        except OSError:  # the server was just ending, as no other test process was there
            pass
        ours.close()


def _start_server(name: str) -> None:
    """Start the server of this test run, unless it is there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        try:
            listening.bind(name)
        except OSError:
            return
        listening.listen()
        listening.set_inheritable(True)
        argv = [sys.executable, "-m", "tests.warm.server", str(listening.fileno())]
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
        empty = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        os.posix_spawn(
            sys.executable, argv, {**os.environ, "PYTHONPATH": path}, file_actions=[empty]
        )
