"""Tokens, turns, cost and context of a run, folded from its events. A part of `RunTotals`."""

from msgspec import Struct, field

from fleet.coders.stream.json_line import MOST_DOLLARS
from fleet.schemas import Event, Usage
from fleet.schemas.budget import MOST_TOKENS

_NO_USAGE = Usage()

#: No context holds more tokens.
_LARGEST_CONTEXT = 10**9


class TokenTotals(Struct, kw_only=True):
    """What a run used so far. Only `add` changes it."""

    #: Tokens of the session before this run, for a CLI whose count goes on when it resumes.
    before: Usage = _NO_USAGE
    #: Tokens of this run, and the latest count of the whole session.
    usage: Usage = _NO_USAGE
    session_usage: Usage = _NO_USAGE
    cost_usd: float | None = None
    turns: int = 0
    context_tokens: int | None = None
    context_peak: int = 0
    context_window: int | None = None
    _answers: set[str] = field(default_factory=set[str])
    #: The CLI itself counts this run, so nothing has to be worked out from the session's count.
    _counted: bool = False

    def add(self, event: Event) -> None:
        """Take in the counts of one event."""
        if event.context_tokens is not None and 0 <= event.context_tokens <= _LARGEST_CONTEXT:
            self.context_tokens = event.context_tokens
            self.context_peak = max(self.context_peak, event.context_tokens)
        self.context_window = event.context_window or self.context_window
        if event.cost_usd is not None and (cost := _sane_cost(event.cost_usd)) is not None:
            self.cost_usd = cost
        if event.turns is not None:
            self.turns = event.turns
        # An answer that comes in several lines carries the same tokens on each of them.
        news = event.message_id is not None and event.message_id not in self._answers
        if news and event.message_id:
            self._answers.add(event.message_id)
            self.turns += event.turns is None
        if event.tokens is None:
            return
        tokens = _sane_usage(event.tokens)
        if event.tokens_of == "session":
            self.session_usage = tokens
            if not self._counted:
                self.usage = tokens.since(self.before)
        elif event.tokens_of == "run":
            self.usage, self._counted = tokens, True
        elif news or event.message_id is None:
            self.usage += tokens


def _sane_cost(cost: object) -> float | None:
    """A cost that could be true, else None: a custom coder may put anything there."""
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost <= MOST_DOLLARS else None


def _sane_usage(usage: Usage) -> Usage:
    """The usage with every count that cannot be true as 0."""
    counts = (usage.input, usage.cache_read, usage.cache_write, usage.output)
    if all(type(count) is int and 0 <= count <= MOST_TOKENS for count in counts):
        return usage
    sane = (int(count) if 0 <= count <= MOST_TOKENS else 0 for count in counts)
    return Usage(**dict(zip(("input", "cache_read", "cache_write", "output"), sane, strict=True)))
