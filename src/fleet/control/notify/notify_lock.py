"""One notifier for each home: two would read each other's answers away."""

from collections.abc import Generator
from contextlib import contextmanager

from fleet.files.file_lock import locked
from fleet.home import Home
from fleet.processes.supervisor_lock import AlreadyRunning

FILE = "notify.lock"


@contextmanager
def sole_notifier(home: Home) -> Generator[None]:
    """Hold the lock while inside. Raises AlreadyRunning if another process holds it."""
    with locked(home.path / FILE) as lock:
        if lock is None:
            raise AlreadyRunning(
                f"a notifier is already running on {home.path}",
                hint="`fleet run` starts one where [notify] names a channel: fleet notify status",
            )
        yield


def is_notifying(home: Home) -> bool:
    """A notifier of this home is running."""
    with locked(home.path / FILE) as lock:
        return lock is None
