"""A home with the simulated `bd`: how a test makes one, scripts its faults and reads its calls."""

import io
import json
import shutil
import sys
import threading
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

from fleet.processes.bounded_call import DEVNULL, Exited
from fleet.queue.beads.bd_cli import bd_client, bd_process
from fleet.queue.beads.queue import open_beads
from tests.fakes import compiled
from tests.simulated import bd

PROGRAM = Path(bd.__file__)
#: Longer words may be more than a process can be given.
_LONG = 30_000
#: Locks on files hold off other processes alone.
_one_at_a_time = threading.Lock()
_programs: set[str] = set()


@contextmanager
def in_process():
    """Let fleet's calls of a simulated bd be calls of a function: a process takes twenty times as
    long. What only a process can do, it does: some faults, or words that cannot be passed on.
    """

    def capture(argv, *, env, **bounds):
        program = shutil.which(argv[0], path=env.get("PATH"))
        if program not in _programs or _needs_process(argv, env, **bounds):
            return bd_process.capture(argv, env=env, **bounds)
        out, err = io.StringIO(), io.StringIO()
        with _one_at_a_time:
            code = bd.answer(argv[1:], env, None, out, err)
        return Exited(code=code, out=out.getvalue().encode(), err=err.getvalue())

    with patch.object(bd_client, "capture", capture):
        yield


def _needs_process(argv, env, *, cwd, stdin, **_) -> bool:
    if not cwd.is_dir() or stdin != DEVNULL:
        return True
    if any("\0" in word or len(word) > _LONG for word in argv):
        return True
    _, verb, _ = bd.parsed(argv[1:])
    script = json.loads(Path(env["BEADS_DIR"], "script.json").read_text())
    return bd.fault_for(script, verb) in bd.OF_PROCESSES


class SimulatedBeads:
    """One home. Its bd answers at once, plays a version, and commits the faults it is told to."""

    def __init__(self, folder: Path, *, version: str = "1.3.0", shape: str = "data") -> None:
        self.home = folder / "home"
        self.beads = self.home / ".beads"
        (self.beads / "embeddeddolt/fleet/.dolt/noms").mkdir(parents=True)
        (self.beads / "metadata.json").write_text("{}")
        (self.beads / "data.json").write_text("{}")
        self.script = {"version": version, "shape": shape, "faults": []}
        self._write()
        self.bd = folder / "bd"
        self.bd.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {compiled(PROGRAM)} "$@"\n')
        self.bd.chmod(0o755)
        _programs.add(str(self.bd))

    def _write(self) -> None:
        (self.beads / "script.json").write_text(json.dumps(self.script))

    def fault(self, do: str, *, on: str = "*", times: int = 1, skip: int = 0) -> None:
        """Order a fault for the next `times` calls of a verb, after `skip` good ones."""
        self.script["faults"].append({"do": do, "on": on, "times": times, "skip": skip})
        self._write()

    def heal(self) -> None:
        self.script["faults"] = []
        self._write()

    def open(self, **options):
        options.setdefault("timeout", timedelta(seconds=20))
        return open_beads(self.home, bd=str(self.bd), **options)

    @property
    def calls(self) -> list[list[str]]:
        """Every call so far, without `version`, as its arguments."""
        try:
            lines = (self.beads / "calls.jsonl").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def verbs(self) -> list[str]:
        return [next(part for part in call if not part.startswith("-")) for call in self.calls]

    def issue(self, task_id: str) -> SimpleNamespace:
        """What bd itself has stored."""
        issues = json.loads((self.beads / "data.json").read_text())
        return SimpleNamespace(**issues[task_id])

    def change(self, task_id: str, **fields) -> None:
        """What a person does with a bare bd, behind fleet's back."""
        file = self.beads / "data.json"
        issues = json.loads(file.read_text())
        issues[task_id].update(fields)
        file.write_text(json.dumps(issues))
        with (self.beads / "embeddeddolt/fleet/.dolt/noms/journal").open("a") as journal:
            journal.write(".")
