"""Runs a `fleet` command as a process of its own that need not import anything first.

Tests run hundreds of commands, and nine tenths of a command is Python's start. So each test process
keeps one server that has imported fleet, and forks it for every command: with an environment, a
directory and standard streams of its own. How a start from nothing goes is a fact of its own:
`cold` tests it, and takes over where the system cannot tell when a process ends.
"""

import array
import atexit
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

Words = Sequence[str | bytes]
Done = subprocess.CompletedProcess[bytes]

#: More than this does not fit into one message to the server.
_LONGEST = 60_000


def fleet(
    words: Words, *, env: Mapping[str, str], cwd: Path, timeout: float, stdin: bytes = b""
) -> Done:
    """One command to its end."""
    argv = [os.fsdecode(word) for word in words]
    request = json.dumps({"argv": argv, "env": dict(env), "cwd": str(cwd)}).encode()
    if len(request) > _LONGEST or not hasattr(os, "pidfd_open"):
        return cold(words, env=env, cwd=cwd, timeout=timeout, stdin=stdin)
    with ExitStack() as files:
        given, out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write(stdin)
        given.seek(0)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                streams = (theirs, given, out, err)
                fds = array.array("i", [stream.fileno() for stream in streams])
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)
                _server().sendmsg([request], [rights])
            code = _code(ours, words, timeout)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(words, code, out.read(), err.read())


def cold(
    words: Words, *, env: Mapping[str, str], cwd: Path, timeout: float, stdin: bytes = b""
) -> Done:
    """The same from nothing, as a shell starts it."""
    return subprocess.run(
        [sys.executable, "-m", "fleet", *words],
        cwd=cwd, env=env, input=stdin, capture_output=True,
        timeout=timeout, check=False,
    )  # fmt: skip


def _code(told: socket.socket, words: Words, timeout: float) -> int:
    """The exit code, of which the server tells after the process id."""
    pid = int(told.recv(32) or b"0")
    assert pid, "the server is gone"
    told.settimeout(timeout)
    try:
        return int(told.recv(32))
    except TimeoutError:
        os.kill(pid, 9)
        raise subprocess.TimeoutExpired(words, timeout) from None


@functools.cache
def _server() -> socket.socket:
    """Where to send commands to. The server ends when we close, as nobody else holds this end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.warm.server", str(theirs.fileno())],
            cwd=Path(__file__).parents[2], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def end() -> None:
        ours.close()
        server.wait(10)

    atexit.register(end)
    return ours
