"""Where the show takes place: a sandbox and a supervisor, both gone when it is over."""

from collections.abc import Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

from msgspec import Struct

from fleet.demo.interrupts import Interrupts
from fleet.demo.sandbox import Sandbox, new_sandbox
from fleet.demo.supervisor_process import Child


class Stage(Struct, frozen=True, kw_only=True):
    """What a show needs."""

    sandbox: Sandbox
    child: Child
    #: They carry out commands. An interrupt does not reach them, so none is left half-way.
    hands: Executor


@contextmanager
def stage(*, keep: bool) -> Generator[Stage]:
    """However this ends, no process is left, and no file unless they are to be kept."""
    interrupts = Interrupts()
    sandbox = new_sandbox()
    child, hands = Child(sandbox, interrupts), ThreadPoolExecutor(max_workers=4)
    try:
        with interrupts.allowed():
            yield Stage(sandbox=sandbox, child=child, hands=hands)
    finally:
        hands.shutdown(cancel_futures=True)
        try:
            child.stop()
        finally:
            if not keep:
                sandbox.remove()
