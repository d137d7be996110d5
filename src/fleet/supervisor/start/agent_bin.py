"""Programs in the home: the `bd` and `fleet` that agents find first on their PATH, which lead to
this fleet, the hook that their CLIs call, and the keeper as bytecode.
"""

import importlib.util
import marshal
import os
import shlex
import sys
from pathlib import Path

from fleet.coders import prompts
from fleet.home import AGENT_BIN, HOOK
from fleet.processes import keeper
from fleet.tripwire import rules

KEEPER = "keeper.pyc"
_COMMANDS = {"fleet": "", "bd": "bd "}


def make_programs(home: Path) -> Path:
    """Write both programs; the folder to put first on an agent's PATH."""
    folder = home / AGENT_BIN
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, verb in _COMMANDS.items():
        # -P: an agent's directory may hold a module of any name, which fleet must not import.
        text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m fleet {verb}"$@"\n'
        _put(folder / name, text.encode())
    _put(folder / KEEPER, _bytecode())
    _put(folder / HOOK, _hook().encode())
    return folder


def _hook() -> str:
    hints = "|".join(f"*{shlex.quote(hint)}*" for hint in rules.HINTS)
    text = (prompts.TEMPLATES / "fleet-hook.sh").read_text(encoding="utf-8")
    return text.replace("@HINTS@", hints).replace("@PYTHON@", shlex.quote(sys.executable))


def _bytecode() -> bytes:
    """The keeper as this supervisor knows it, for all its runs.

    Where bytecode is not written beside the source (a read-only installation, or Python told not
    to), every start would compile it anew; and an upgrade must not change it under our hands.
    """
    source = Path(keeper.__file__)
    code = compile(source.read_bytes(), str(source), "exec", dont_inherit=True, optimize=0)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def _put(target: Path, data: bytes) -> None:
    if target.exists() and target.read_bytes() == data:
        return
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.chmod(0o700)
    fresh.replace(target)
