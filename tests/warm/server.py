"""The server: has imported fleet, and forks itself for every command that it is sent."""

import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import selectors
import socket
import sys
import time
import traceback

import fleet
from fleet.__main__ import main
from fleet.spending.prices import LookedUpPrices

#: Surfaces with libraries of their own: most commands would only carry them along.
_LEFT_OUT = ("fleet.__main__", "fleet.mcp", "fleet.tui", "fleet.web")

#: The models of most stories. A supervisor has each list price looked up by a process, a third of a
#: second long: these are looked up once for all supervisors, those of other stories by each.
_MODELS = ("sonnet", "claude-sonnet-4-5")


def serve(listening: socket.socket) -> None:
    """Until the last test process has closed its end."""
    clients = 0
    with selectors.DefaultSelector() as watched:
        watched.register(listening, selectors.EVENT_READ)
        while True:
            for key, _ in watched.select():
                if key.data is not None:
                    _over(watched, key)
                elif key.fileobj is listening:
                    client, _ = listening.accept()
                    client.send(b"!")
                    watched.register(client, selectors.EVENT_READ)
                    clients += 1
                elif not _begun(watched, key.fileobj):
                    watched.unregister(key.fileobj)
                    key.fileobj.close()
                    clients -= 1
                    if not clients:
                        return


def _begun(watched: selectors.BaseSelector, commands: socket.socket) -> bool:
    raw, fds, _, _ = socket.recv_fds(commands, 1 << 17, 4)
    if not raw:
        return False
    pid = os.fork()
    if pid == 0:
        # Nothing of the server's may live on here: it tells by closing its ends.
        for key in watched.get_map().values():
            os.close(key.fd)
            if key.data is not None:
                key.data[1].close()
        os.close(fds[0])
        os._exit(_command(json.loads(raw), fds[1:]))
    for fd in fds[1:]:
        os.close(fd)
    told = socket.socket(fileno=fds[0])
    told.send(str(pid).encode())
    watched.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, told))
    return True


def _over(watched: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, told = key.data
    watched.unregister(key.fileobj)
    os.close(key.fd)
    _, status = os.waitpid(pid, 0)
    with told:
        told.send(str(os.waitstatus_to_exitcode(status)).encode())


def _command(request: dict, streams: list[int]) -> int:
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["cwd"])
    program = request["program"]
    sys.argv = [program or "fleet", *request["argv"]]
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8")
    sys.stdout = _writer(1, "strict")
    sys.stderr = _writer(2, "backslashreplace")
    try:
        if program:
            runpy.run_path(program, run_name="__main__")
        else:
            main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # as Python itself ends a program
        traceback.print_exc()
        return 1
    else:
        return 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _writer(fd: int, errors: str) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(fd, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=fd == 2)


if __name__ == "__main__":
    for module in pkgutil.walk_packages(fleet.__path__, "fleet."):
        if not module.name.startswith(_LEFT_OUT):
            importlib.import_module(module.name)
    for model in _MODELS:
        LookedUpPrices().begin(model)
    for model in _MODELS:
        LookedUpPrices().of(model)  # waits: a thread that still runs would not be there in a fork
    gc.freeze()  # or the first collection in a child would copy all of it
    serve(socket.socket(fileno=int(sys.argv[1])))
