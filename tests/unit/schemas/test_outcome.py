"""Events and outcomes as values that can be written down."""

import msgspec
import pytest

from fleet.schemas import (
    ContextFull,
    Event,
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    Outcome,
    RateLimit,
    RateLimited,
    Stalled,
    Stopped,
    Usage,
)
from tests.builders import NOW


@pytest.mark.parametrize(
    "outcome",
    [
        Finished(text="ok", denied=("Bash",)),
        Failed(reason="auth", detail="log in"),
        RateLimited(limit=RateLimit(kind="weekly", status="rejected", resets_at=NOW)),
        ContextFull(tokens=1, window=2),
        NeedsHuman(question="Which?"),
        Stalled(silent_seconds=300),
        LimitExceeded(limit="time"),
        Stopped(by="ada"),
        Lost(),
    ],
)
def test_an_outcome_is_the_same_after_it_was_written_down(outcome):
    """A supervisor that starts again reads how a run ended from a file."""
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome


def test_an_event_needs_what_the_documentation_names_and_no_more():
    """The four keywords work, and the rest is empty and takes no room in a file."""
    event = Event(kind="session_ended", raw={"a": 1}, ts=NOW, usage={"n": 2})
    assert (event.calls, event.limits, event.terminal) == ((), (), None)
    assert set(msgspec.to_builtins(event)) == {"kind", "raw", "ts", "usage"}
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


def test_tokens_add_up_and_come_apart():
    """Each token counts once, whichever way it came."""
    one = Usage(input=1, cache_read=10, cache_write=100, output=1000)
    assert (one + one).total == 2222
    assert (one + one).since(one) == one
