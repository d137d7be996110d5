"""Processes beside the supervisor, one of a kind for each home: the notifier and the exporter."""

from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct

from fleet.files.file_lock import locked
from fleet.home import Home
from fleet.processes.supervisor_lock import AlreadyRunning


class SideKind(Struct, frozen=True, kw_only=True):
    """One kind of side process."""

    name: str
    lock: str
    #: What to do where another one is at work.
    hint: str


#: Two would read each other's answers away.
NOTIFIER = SideKind(
    name="notifier",
    lock="notify.lock",
    hint="`fleet run` starts one where [notify] names a channel: fleet notify status",
)
#: Two would send everything twice.
EXPORTER = SideKind(
    name="exporter",
    lock="otel.lock",
    hint="`fleet run` starts one where [otel] names an endpoint: fleet otel status",
)


@contextmanager
def sole_process(home: Home, kind: SideKind) -> Generator[None]:
    """Hold the lock while inside. Raises AlreadyRunning if another process holds it."""
    with locked(home.path / kind.lock) as lock:
        if lock is None:
            what = f"{'an' if kind.name[0] in 'aeiou' else 'a'} {kind.name}"
            raise AlreadyRunning(f"{what} is already running on {home.path}", hint=kind.hint)
        yield


def is_running(home: Home, kind: SideKind) -> bool:
    """Whether a process of this kind is running for the home."""
    with locked(home.path / kind.lock) as lock:
        return lock is None
