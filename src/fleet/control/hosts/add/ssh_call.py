"""Runs `setup_there` on another machine over ssh, and reads the printed lines."""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from fleet.control.hosts.add import setup_there
from fleet.errors import BadInput, FleetError
from fleet.processes.bounded_call import CallFailed, call

#: The exit code of ssh itself, and ours for a machine without a Python that fleet runs on.
_SSH_FAILED, _NO_PYTHON = 255, 97
_PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")
#: No question is asked, nothing is forwarded, and a line that is dead is given up.
_OPTIONS = (
    "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
    "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4", "-o", "ClearAllForwardings=yes",
)  # fmt: skip
_DESTINATION = re.compile(r"(?:[A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9_][A-Za-z0-9._:-]*")
#: The program reads its own text first: so no command line holds more than this.
_READ_PROGRAM = (
    "import sys; exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), sys.argv[2], sys.argv[3]))"
)


class Destination(Struct, frozen=True, kw_only=True):
    """A machine as ssh calls it, with options of the person's own (`-o KEY=VALUE`)."""

    name: str
    options: tuple[str, ...] = ()

    def argv(self, command: str) -> list[str]:
        own = [word for option in self.options for word in ("-o", option)]
        return ["ssh", *own, *_OPTIONS, "--", self.name, command]


def destination(name: str, options: Sequence[str]) -> Destination:
    """A destination, if ssh can take `name` for nothing else. Raises BadInput."""
    if not _DESTINATION.fullmatch(name):
        raise BadInput(f"{name[:100]!r} is no machine", hint="Like user@machine, or a Host of ssh.")
    for option in options:
        if "=" not in option:
            raise BadInput(f"-o {option[:100]!r} is not KEY=VALUE", hint="Like -o Port=2222")
    return Destination(name=name, options=tuple(options))


def ask(
    to: Destination,
    request: Mapping[str, Any],
    *,
    timeout: float,
    wheels: bytes = b"",
    on_step: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """The answer of the other machine. Raises FleetError: which step failed there, and why."""
    program = Path(setup_there.__file__).read_bytes()
    stdin = b"".join((program, json.dumps(request).encode(), b"\n", wheels))
    lines = _Lines(on_step)
    command = _command(len(program))
    done = call(to.argv(command), timeout=timeout, stdin=stdin, sink=lines.take)
    if lines.answer is not None:
        return lines.answer
    err = done.err.strip().splitlines()
    if isinstance(done, CallFailed):
        raise FleetError(f"ssh {to.name} {done.problem}", hint=" ".join(err[-2:]))
    if done.code == _SSH_FAILED:
        raise FleetError(
            f"ssh does not reach {to.name}: {'; '.join(err[-2:]) or 'no reason was given'}",
            hint=f"This must work without a question: ssh -o BatchMode=yes {to.name} true",
        )
    if done.code == _NO_PYTHON:
        raise FleetError(
            f"{to.name} has no Python 3.11 or later",
            hint=f"Looked for there: {', '.join(_PYTHONS)}. Debian: apt install python3",
        )
    raise FleetError(
        f"{to.name} gave no answer (exit code {done.code})", hint=" ".join(err[-3:])[:500]
    )


def _command(length: int) -> str:
    """What the login shell there is to run: the first Python that is new enough, on the program."""
    argv = shlex.join(("-I", "-c", _READ_PROGRAM, str(length), "setup_there", "exec"))
    new_enough = shlex.quote("import sys; sys.exit(sys.version_info < (3, 11))")
    script = (
        'PATH="$PATH:$HOME/.local/bin:/usr/local/bin"; '
        f"for p in {' '.join(_PYTHONS)}; do "
        f'if "$p" -I -c {new_enough} 2>/dev/null; then exec "$p" {argv}; fi; done; '
        f"exit {_NO_PYTHON}"
    )
    return f"exec /bin/sh -c {shlex.quote(script)}"


class _Lines:
    """The lines of the other machine: steps are passed on, the last one is the answer."""

    def __init__(self, on_step: Callable[[str], None]) -> None:
        self._on_step, self._rest = on_step, b""
        self._answer: dict[str, Any] | None = None

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                found = json.loads(line)
            except ValueError:
                continue  # a greeting of the login shell
            if not isinstance(found, dict):
                continue
            if "step" in found:
                self._on_step(str(found.get("said", "")))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            else:
                self._answer = found

    @property
    def answer(self) -> dict[str, Any] | None:
        """What came last, or None. Raises FleetError if a step failed."""
        found = self._answer
        if found is not None and "failed" in found:
            why = str(found.get("why", "")).strip()
            raise FleetError(f"{found['failed']}: {why}", hint=str(found.get("hint", "")))
        return found
