"""Where the show takes place: a sandbox and a supervisor, both gone when it is over."""

from collections.abc import Generator
from contextlib import contextmanager

from fleet.demo.child import Child
from fleet.demo.interrupts import Interrupts
from fleet.demo.sandbox import Sandbox, new_sandbox


@contextmanager
def stage(*, keep: bool) -> Generator[tuple[Sandbox, Child]]:
    """However this ends, no process is left, and no file unless they are to be kept."""
    interrupts = Interrupts()
    sandbox = new_sandbox()
    child = Child(sandbox, interrupts)
    try:
        with interrupts.allowed():
            yield sandbox, child
    finally:
        try:
            child.stop()
        finally:
            if not keep:
                sandbox.remove()
