"""`context-windows.json`: how many tokens the context of each model holds, as the CLIs report it.

claude reports it only with the end of a run, so the runs after that are held to it from the start.
"""

from datetime import datetime

from fleet.files.state_store import StateStore
from fleet.home import Home

FILE = "context-windows.json"


def known_window(home: Home, coder: str, model: str) -> int:
    """The window that a coder last reported for a model; 0: it has not reported any."""
    return _store(home).state(_name(coder, model))


def note_window(home: Home, coder: str, model: str, window: int, now: datetime) -> None:
    """Record what a run of this coder and model reported. Raises OSError."""
    _store(home).apply({_name(coder, model): window}, now, durable=False)


def _store(home: Home) -> StateStore[int, int]:
    return StateStore(home.path / FILE, dict[str, int], after=_latest, empty=0)


def _latest(_before: int, reported: int, _now: datetime) -> int:
    return reported


def _name(coder: str, model: str) -> str:
    return f"{coder}/{model}"
