"""What is known of an account's limits, and when they let the account work. Pure.

A window is kept by its kind: a full week says nothing of the five hours, nor one model's week of
another model's. Throttling, overload and outages are no windows: they pass by themselves, and lower
the pace instead.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from fleet.schemas.account import Window
from fleet.schemas.event import LimitKind, RateLimit

#: No vendor's window is longer; a reset further away is a mistake, and the account is tried sooner.
LONGEST = timedelta(days=8)
#: How long a refusal without an end is believed.
UNDATED = timedelta(minutes=5)
#: Credit does not come back by itself: this often one task tries whether credit was bought.
CREDIT = timedelta(hours=1)
#: A reset that came this shortly before the refusal was read is over by now: a busy machine reads
#: late. The account is tried after a moment.
_JUST_OVER, _MOMENT = timedelta(minutes=1), timedelta(seconds=5)
#: How long a window without an end is believed.
_STALE = timedelta(hours=5)
#: A clock that was set back by more than this makes every date of before a guess.
_SET_BACK = timedelta(hours=1)

#: Refusals that pass by themselves, and are answered by a lower pace.
PASSING: frozenset[LimitKind] = frozenset({"throttle", "overload", "outage"})
#: Windows that bind one family of models.
_MODELS: Mapping[str, str] = {"weekly_opus": "opus", "weekly_sonnet": "sonnet"}
#: Windows of use beyond the plan: being used does not close the account, being refused does.
_UNBOUNDED: frozenset[LimitKind] = frozenset({"overage"})

Windows = Mapping[str, Window]


def with_limit(windows: Windows, limit: RateLimit, now: datetime, model: str = "") -> Windows:
    """The windows once a CLI has told of one; impossible values are left out.

    `model` is the model that the window refused.
    """
    over = limit.status != "rejected" and _ended(limit.resets_at, now)
    if limit.kind in PASSING or over:
        return windows
    before = windows.get(limit.kind)
    known = before is not None and is_current(before, now)
    window = Window(
        kind=limit.kind,
        model=model or (before.model if before is not None and known else ""),
        status=limit.status,
        used_percent=_percent(limit.used_percent),
        resets_at=_end(limit, now),
        seen_at=now,
    )
    if known and _silent(window):
        return windows  # "allowed" without figures takes back nothing that is known
    kept = {kind: each for kind, each in windows.items() if is_current(each, now)}
    return {**kept, limit.kind: window}


def _silent(window: Window) -> bool:
    told = window.used_percent is not None or window.resets_at is not None
    return window.status == "allowed" and not told


def is_current(window: Window, now: datetime) -> bool:
    """Whether the end of a window is still to come."""
    if now < window.seen_at - _SET_BACK:
        return False
    if window.resets_at is not None:
        return window.resets_at > now
    return now < window.seen_at + _span(window)


def _span(window: Window) -> timedelta:
    return _soon(window.kind) if window.status == "rejected" else _STALE


def _soon(kind: LimitKind) -> timedelta:
    return CREDIT if kind == "credit" else UNDATED


def binds(window: Window, model: str) -> bool:
    """Whether the window limits the use of this model."""
    family = _MODELS.get(window.kind)
    return family is None or family in model.lower() or bool(model and model == window.model)


def full_window(windows: Windows, model: str, stop_at: int, now: datetime) -> Window | None:
    """The window that keeps a model from new work for the longest time; None: there is none."""
    full = [each for each in windows.values() if _is_full(each, model, stop_at, now)]
    return max(full, key=end_of, default=None)


def end_of(window: Window) -> datetime:
    """When a window resets, or is tried again."""
    return window.resets_at or window.seen_at + _span(window)


def _is_full(window: Window, model: str, stop_at: int, now: datetime) -> bool:
    if not is_current(window, now) or not binds(window, model):
        return False
    if window.status == "rejected":
        return True
    bounded = window.kind not in _UNBOUNDED and window.used_percent is not None
    return bounded and (window.used_percent or 0) >= stop_at


def headroom(windows: Windows, model: str, stop_at: int, now: datetime) -> float:
    """The share of the fullest window that is left, from 0 to 1; 1 where no share is known."""
    used = [
        each.used_percent
        for each in windows.values()
        if each.used_percent is not None
        and each.kind not in _UNBOUNDED
        and is_current(each, now)
        and binds(each, model)
    ]
    return max(0.0, 1 - max(used, default=0.0) / stop_at)


def _percent(told: float | None) -> float | None:
    if told is None or not math.isfinite(told):
        return None
    return min(max(told, 0.0), 100.0)


def _ended(told: datetime | None, now: datetime) -> bool:
    return told is not None and told.tzinfo is not None and told <= now


def _end(limit: RateLimit, now: datetime) -> datetime | None:
    """The end of a window; one that is past or beyond every window is replaced by a near one."""
    told = limit.resets_at
    if believable(told, now):
        return told
    if told is None or told.tzinfo is None:
        return None
    just_over = now - _JUST_OVER < told <= now
    return now + (_MOMENT if just_over else _soon(limit.kind))


def believable(told: datetime | None, now: datetime) -> bool:
    """Whether a moment can be the end of a window: in the future, and not beyond every window."""
    return told is not None and told.tzinfo is not None and now < told <= now + LONGEST
