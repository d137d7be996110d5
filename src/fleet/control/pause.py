"""`fleet pause`: the file in the home that keeps a supervisor from starting runs."""

from datetime import UTC, datetime

from fleet.files.atomic_write import write_atomically
from fleet.home import Home
from fleet.home.status_file import PAUSED
from fleet.queue import doorbell


def paused_since(home: Home) -> datetime | None:
    """When a person paused this home; None: not paused."""
    try:
        return datetime.fromtimestamp((home.path / PAUSED).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def pause(home: Home) -> bool:
    """Let no new run begin until `unpause`. False: the home was paused already."""
    if paused_since(home) is not None:
        return False
    write_atomically(home.path / PAUSED, b"")
    doorbell.ring(home.path)
    return True


def paused_words(done: bool) -> str:
    """What a person is told by what `pause` returned."""
    return ("Paused" if done else "Paused already") + ": no new runs."


def unpaused_words(done: bool) -> str:
    """What a person is told by what `unpause` returned."""
    return "Resumed." if done else "Nothing was paused."


def unpause(home: Home) -> bool:
    """Let runs begin again. False: the home was not paused."""
    if paused_since(home) is None:
        return False
    (home.path / PAUSED).unlink(missing_ok=True)
    doorbell.ring(home.path)
    return True
