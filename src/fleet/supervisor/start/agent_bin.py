"""Programs in the home: the `bd` and `fleet` that agents find first on their PATH, the hook and the
MCP server that their CLIs call, and the keeper, as bytecode.

All of them are made from the installed package, at each start of a supervisor and before each run,
whatever stands in their place. What was compared and has not changed since is not read again.
"""

import importlib.util
import marshal
import os
import shlex
import sys
import time
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

from fleet.coders import prompts
from fleet.errors import InvalidTask
from fleet.files.safe_read import read_bounded
from fleet.git.checkout.fresh_checkout import remove_tree
from fleet.home import AGENT_BIN, HOOK
from fleet.processes import keeper
from fleet.spool import client
from fleet.spool.agent_mcp import line_server, tool_server
from fleet.tripwire import rules

KEEPER, CLIENT, TOOL_SERVER = "keeper.pyc", "client.pyc", "mcp.pyc"
_COMMANDS = {"fleet": "", "bd": "bd "}
_LARGEST = 1 << 20
#: What stands before the bytecode in its file.
_HEAD = importlib.util.MAGIC_NUMBER + bytes(12)
#: Puts modules in their places and runs the last of them, without a package on the disk.
_BUNDLE = """\
import marshal, sys
for name, data in {modules!r}:
    module = sys.modules[name] = type(sys)(name)
    module.__path__ = []
    exec(marshal.loads(data), module.__dict__)
sys.modules[{last!r}].run()
"""
#: Nanoseconds that a file has to be unchanged before its stamp is trusted: the kernel's clock for
#: files ticks slowly, and two changes within a tick have one time.
_SETTLED = 1_000_000_000

#: What a file's stamp consists of: no program can set the last of them, the time of change, back.
Stamp = tuple[int, int, int, int]


class AgentPrograms:
    """The programs of one home."""

    def __init__(self, home: Path) -> None:
        #: The folder for an agent's PATH.
        self.folder = home / AGENT_BIN
        #: The files that were as they shall be, with their stamps.
        self._compared: dict[str, Stamp] = {}

    def make(self) -> Path:
        """Write the programs that are not there as they shall be; returns their folder."""
        for name, data in _programs(self.folder).items():
            target = f"{self.folder}/{name}"
            stamp = _stamp(target)
            if stamp is not None and stamp == self._compared.get(name):
                continue
            self.folder.mkdir(mode=0o700, exist_ok=True)
            # The stamp is older than the comparison: a change in between is found the next time.
            if _put(Path(target), data) or stamp is None:
                continue
            if time.time_ns() - stamp[3] > _SETTLED:
                self._compared[name] = stamp
        return self.folder


@cache
def _programs(folder: Path) -> dict[str, bytes]:
    python, own = shlex.quote(sys.executable), shlex.quote(str(folder / CLIENT))
    found = {KEEPER: _bytecode(keeper.__file__), CLIENT: _bytecode(client.__file__)}
    found[TOOL_SERVER] = _bundle(client, line_server, tool_server)
    for name, verb in _COMMANDS.items():
        # A verify command has no drop box: it is a person's. -P: the directory that the program is
        # called in may hold a module of any name, which fleet must not import.
        text = (
            f"#!/bin/sh\n"
            f'[ "$FLEET_SPOOL" ] || exec {python} -P -m fleet {verb}"$@"\n'
            f'exec {python} -I -S {own} {name} "$@"\n'
        )
        found[name] = text.encode()
    return {**found, HOOK: _hook().encode()}


def _hook() -> str:
    hints = "|".join(f"*{shlex.quote(hint)}*" for hint in rules.HINTS)
    text = (prompts.TEMPLATES / "fleet-hook.sh").read_text(encoding="utf-8")
    return text.replace("@HINTS@", hints).replace("@PYTHON@", shlex.quote(sys.executable))


def _bundle(*modules: ModuleType) -> bytes:
    """Several modules as one program, each under its own name; the last one's `run` is called."""
    names = [module.__name__ for module in modules]
    above = {".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 1)}
    parts = [(name, marshal.dumps(compile("", name, "exec"))) for name in sorted(above)]
    parts += [(m.__name__, marshal.dumps(_code(str(m.__file__)))) for m in modules]
    text = _BUNDLE.format(modules=parts, last=names[-1])
    return _HEAD + marshal.dumps(compile(text, TOOL_SERVER, "exec", dont_inherit=True, optimize=0))


def _bytecode(source: str) -> bytes:
    """A program as this supervisor knows it, for all runs.

    Where bytecode is not written beside the source (a read-only installation, or Python told not
    to), every start would compile it anew; and an upgrade must not change it under our hands.
    """
    return _HEAD + marshal.dumps(_code(source))


def _code(source: str) -> CodeType:
    return compile(Path(source).read_bytes(), source, "exec", dont_inherit=True, optimize=0)


def _stamp(path: str) -> Stamp | None:
    """What tells a change of a file, or of what stands in the file's place; None:
    there is nothing.
    """
    try:
        about = os.lstat(path)
    except OSError:
        return None
    return (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def _put(target: Path, data: bytes) -> bool:
    """Write a program, unless the same is there. True: it had to be written."""
    try:
        if read_bounded(target, _LARGEST) == data:
            return False
    except InvalidTask:  # a link, a pipe, a directory
        if target.is_dir() and not target.is_symlink():
            remove_tree(target)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.chmod(0o700)
    fresh.replace(target)
    return True
