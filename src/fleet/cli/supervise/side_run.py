"""How a process beside the supervisor runs: alone of its kind, until a signal, anew after a change
of the settings.
"""

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from fleet.cli.terminal_text import AFTER_TIME, print_line
from fleet.control import Control
from fleet.control.supervise.restart import start_over
from fleet.control.supervise.side_process import SideKind, sole_process
from fleet.schemas.shown_text import one_line


def run_beside(
    fleet: Control,
    kind: SideKind,
    work: Callable[[Callable[[], bool], Callable[[str], None]], int | None],
    *,
    quiet: bool,
) -> int:
    """Have `work(stop, say)` done, which ends with an exit code of its own accord, or once `stop`
    says so; returns the exit code.
    """
    stamp, stopped = fleet.settings_stamp(), list[int]()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopped.append(number))
    # The supervisor starts this process with SIGTERM blocked.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def say(text: str) -> None:
        if not quiet:
            with suppress(OSError):  # a full disk below the log keeps no message from its person
                print_line(f"{datetime.now().astimezone():%H:%M:%S}  {one_line(text)}", AFTER_TIME)

    with sole_process(fleet.home, kind):
        code = work(lambda: bool(stopped) or fleet.settings_stamp() != stamp, say)
    if code is None and not stopped:  # other settings: begin anew with them
        start_over(sys.argv[1:])
    return code or 0
