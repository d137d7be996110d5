"""Carries out command lines with an agent's identity, though no table of rights refuses any: what a
hole in the table would lead to. Reads lines as JSON from standard input, and prints the exit codes.
"""

import json
import os
import signal
import sys
import time

from fleet import __main__ as program
from fleet.cli import COMMANDS, agent_line, root

PATIENCE = 20.0


def carry_out(words: list[str]) -> int:
    """One line in a process of its own, as the supervisor starts one; the exit code."""
    pid = os.fork()
    if pid == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        sys.argv = ["fleet", *words]
        try:
            program.main()
        except SystemExit as done:
            os._exit(done.code if isinstance(done.code, int) else 1)
        except BaseException:  # noqa: BLE001 - what a command raises is what is looked for
            os._exit(99)
        os._exit(0)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


def main() -> None:
    agent_line.check_fleet = lambda *_: None
    for name in COMMANDS:  # so that no line has to
        if name not in ("top", "web", "demo"):
            root.root.get_command(None, name)  # type: ignore[arg-type]
    print(json.dumps([carry_out(words) for words in json.load(sys.stdin)]))


main()
