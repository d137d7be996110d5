"""The totals of a run, folded from events: the same for a live stream and for a file."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec
from msgspec import Struct, field, structs

from fleet.coders.stream.json_line import MOST_DOLLARS
from fleet.coders.stream.tool_calls import ToolCalls
from fleet.schemas import Event, RateLimit, Usage, typed
from fleet.schemas.budget import MOST_TOKENS

#: A window that is this full (in percent) is what a refusal without a name was about.
_FULL = 95

#: How CLIs name the time of day at which a limit ends, and its zone.
_CLOCK = re.compile(
    r"\b(?:try again at|resets(?: at)?) (1[0-2]|0?[1-9])(?::([0-5]\d))? ?([ap]m)\b"
    r"(?: \(([A-Za-z][\w+/-]*)\))?",
    re.IGNORECASE,
)
#: How a CLI says that the vendor was busy, and that no window of the account is used up.
_NOT_USAGE = "not your usage limit"
#: No window is longer than a month; a number beyond it is a mistake.
_LONGEST_WAIT = 31 * 86_400.0


_NO_USAGE = Usage()

#: Events of an agent at work: what failed before them is over.
_WORK = frozenset({"assistant_text", "tool_use", "tool_result", "thinking"})

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
    #: Some answers were counted only as they began.
    _begun: bool = False

    @property
    def partial(self) -> bool:
        """The CLI ended without counting the run: the run used at least this much."""
        return self._begun and not self._counted

    def add(self, event: Event) -> None:
        """Take in the counts of one event."""
        if event.context_tokens is not None and 0 <= event.context_tokens <= _LARGEST_CONTEXT:
            self.context_tokens = event.context_tokens
            self.context_peak = max(self.context_peak, event.context_tokens)
        if event.context_window and 0 < event.context_window <= _LARGEST_CONTEXT:
            self.context_window = event.context_window
        if event.cost_usd is not None and (cost := _sane_cost(event.cost_usd)) is not None:
            # Nought, without tokens, after answers that took some: the CLI was cut off uncounted.
            uncounted = not cost and event.tokens is None and self.usage.total
            self.cost_usd = self.cost_usd if uncounted else cost
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
        self._begun = self._begun or event.tokens_of == "begun"
        if event.tokens_of == "session":
            self.session_usage = tokens
            if not self._counted:
                self.usage = tokens.since(self.before)
        elif event.tokens_of == "run":
            self.usage, self._counted = tokens, True
        elif news or event.message_id is None:
            self.usage += tokens


class RunTotals(Struct, kw_only=True):
    """What is known of a run after the events so far. Only `add` changes it."""

    session_id: str = ""
    model: str = ""
    version: str = ""
    key_source: str = ""

    #: Events by their kind; a forged ending counts as `bad`.
    kinds: Counter[str] = field(default_factory=Counter[str])
    tools: ToolCalls = field(default_factory=ToolCalls)
    tokens: TokenTotals = field(default_factory=TokenTotals)

    #: The latest report on each limit, by its kind.
    limits: dict[str, RateLimit] = field(default_factory=dict[str, RateLimit])
    #: Tools that were refused, in order.
    denied: tuple[str, ...] = ()

    #: Tools and servers that the run had at its start (None: not told), and those that failed.
    offers: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()

    #: The last text of the agent, or of the CLI at the end.
    text: str = ""
    terminal: str | None = None
    #: Why the last request or the run failed; empty again after a later answer.
    reason: str = ""
    #: The CLI's own words for `reason`.
    error: str = ""
    #: The last line that is not of the CLI's format: how some say why they do not begin.
    plain: str = ""

    @property
    def events(self) -> int:
        return self.kinds.total()

    def add(self, event: Event | None) -> None:
        """Take in one event; None is a line without interest."""
        if event is None:
            return
        if event.session_id:
            if self._is_forged(event):
                self.kinds["bad"] += 1
                return
            self.session_id = event.session_id
        self.kinds[event.kind] += 1
        if event.kind == "bad":
            self.plain = event.text or self.plain
        if event.version:
            self.version = event.version
        if event.model:
            self.model = event.model
        if event.key_source:
            self.key_source = event.key_source
        if event.offers is not None:
            self.offers, self.missing = event.offers, event.missing
        self.tools.news.add(event, self.tools.open)
        # Most lines tell of one thing only.
        if event.calls or event.results or event.denied_calls:
            self.tools.add(event)
        if event.denied:
            self.denied = event.denied if event.terminal else self.denied + event.denied
        self.tokens.add(event)
        if windows := event.context_windows:  # a subagent's model is none of the agent's own
            self.tokens.context_window = windows.get(self.model) or max(windows.values())
        if event.limits:
            self._limits(event)
        self._ending(event)

    def _is_forged(self, event: Event) -> bool:
        """An ending of another session, which something below the agent printed into the stream."""
        if not self.session_id or event.session_id == self.session_id:
            return False
        return bool(event.terminal) or event.kind == "session_ended"

    def _limits(self, event: Event) -> None:
        for claimed in event.limits:
            if (limit := sane_limit(claimed)) is not None:
                self.limits[limit.kind] = _dated(limit, event)

    def _ending(self, event: Event) -> None:
        if event.kind == "session_started" and self.terminal:
            # One process may hold several turns; only the last one's word counts.
            self.terminal, self.reason, self.error = None, "", ""
        if event.terminal or event.kind == "session_ended":
            # An error that ended the work is not undone by a last line that calls it a success.
            failed = self.terminal == "error"
            self.terminal = "error" if failed else event.terminal or "success"
            self.reason = event.reason or ("" if self.terminal == "success" else self.reason)
            # A CLI's last line may say only that there was an error, told in a line before.
            self.error = (event.text or self.error) if self.terminal == "error" else ""
            self.text = event.text or self.text
            self.tools.open.clear()
        elif event.reason:
            self.reason, self.error = event.reason, event.text
        elif event.kind in _WORK:
            self.reason = self.error = ""
            if event.kind == "assistant_text":
                self.text = event.text

    def refusal(self, reason: str) -> RateLimit:
        """The limit that a run ran into which was refused for this reason.

        In this order: a refused or full window with a reset time, a refused window, a full window,
        else a limit without a window. An outage is no window's doing, however full that is, and
        neither is a refusal of which the CLI says so.
        """
        if reason == "api_error":
            return RateLimit(kind="outage", status="rejected")
        if _NOT_USAGE in self.error.lower():
            return RateLimit(kind="throttle", status="rejected")
        named = [limit for limit in self.limits.values() if limit.status == "rejected"]
        full = [limit for limit in self.limits.values() if (limit.used_percent or 0) >= _FULL]
        dated = [limit for limit in (*named, *full) if limit.resets_at]
        # The end of a window that is named is told to the second, and not in words.
        dated.sort(key=lambda limit: limit.kind == "usage")
        for limit in (*dated, *named, *full):
            return structs.replace(limit, status="rejected")
        kind = "overload" if reason == "overloaded" else "throttle"
        return RateLimit(kind=kind, status="rejected")


def sane_limit(limit: object) -> RateLimit | None:
    """The limit if the fields have their types, else None: custom coders may put anything there."""
    try:
        sane = typed.convert(msgspec.to_builtins(limit), RateLimit)
    except (TypeError, ValueError, msgspec.MsgspecError):
        return None
    naive = sane.resets_at is not None and sane.resets_at.tzinfo is None
    return structs.replace(sane, resets_at=None) if naive else sane


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


def _dated(limit: RateLimit, event: Event) -> RateLimit:
    """The limit with `resets_at` worked out from `retry_after` and the event's time."""
    if limit.resets_at or event.ts is None:
        return limit
    if limit.retry_after is None:
        words = event.text if limit.status == "rejected" else ""
        return structs.replace(limit, resets_at=_at_clock(words, event.ts))
    wait = timedelta(seconds=min(max(0.0, limit.retry_after), _LONGEST_WAIT))
    return structs.replace(limit, resets_at=event.ts + wait)


def _at_clock(words: str, since: datetime) -> datetime | None:
    """The next moment at which the clock shows the time that a CLI's words name, in the zone that
    they name, or else in this machine's.
    """
    found = _CLOCK.search(words)
    if found is None:
        return None
    hour, minute = int(found[1]) % 12 + 12 * (found[3].lower() == "pm"), int(found[2] or 0)
    local = since.astimezone(_zone(found[4] or ""))
    named = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    # A CLI names whole minutes: one that has just begun is meant, and not the one of tomorrow.
    late = named + timedelta(minutes=1) <= local
    return (named + timedelta(days=late)).astimezone(UTC)


def _zone(name: str) -> tzinfo | None:
    """The zone of this name; None: it is not known."""
    from zoneinfo import ZoneInfo  # few runs name one

    try:
        return ZoneInfo(name) if name else None
    except (KeyError, OSError, ValueError):
        return None
