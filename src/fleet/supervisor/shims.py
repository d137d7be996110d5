"""The `bd` and `fleet` that agents find first on their PATH: both lead to this fleet."""

import os
import shlex
import sys
from pathlib import Path

FOLDER = "bin"
_COMMANDS = {"fleet": "", "bd": "bd "}


def make_shims(home: Path) -> Path:
    """Write both programs; the folder to put first on an agent's PATH."""
    folder = home / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, verb in _COMMANDS.items():
        # -P: an agent's directory may hold a module of any name, and is not to be run by ours.
        text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m fleet {verb}"$@"\n'
        target = folder / name
        if not target.exists() or target.read_text() != text:
            fresh = folder / f".{name}.{os.getpid()}"
            fresh.write_text(text)
            fresh.chmod(0o700)
            fresh.replace(target)
    return folder
