"""When a person is told of what, and in how many notifications. Pure.

What was told is told again only if it ended and came back, or is a question that stays open. In
quiet hours only urgent questions pass, and the rest is told at their end; topics that the settings
do not name come with the digest.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from msgspec import Struct, structs

from fleet.config.notify import NotifySettings
from fleet.control.notify.notices import Notice
from fleet.schemas.units import seconds

#: What comes within this time becomes one notification.
TOGETHER = timedelta(seconds=10)
#: What ended and comes back within this time is not told again.
SAME = timedelta(minutes=30)
#: A question is told this often at most.
OFTEN = 3
#: After this many notifications in an hour, what is no question waits for the next hour.
IN_AN_HOUR = 20
#: Topics that are no news to a person who looks at fleet.
SEEN_BY_LOOKING = frozenset(("idle", "closed"))
#: How much of a sentence about the home is a notification's subject, in characters.
_HEADLINE = 200
#: How many lines of a notification name a task each.
_LINES = 30
#: How much of an agent's text a notification holds, in characters.
_MOST = 1500


class NoticeState(Struct, frozen=True, kw_only=True):
    """A notice, and how far a person has been told."""

    notice: Notice
    since: datetime
    #: When the notice is told next; None: told often enough.
    due: datetime | None
    times: int = 0
    #: Since when the notice holds no more.
    ended_at: datetime | None = None

    @property
    def key(self) -> str:
        return self.notice.key


class Notification(Struct, frozen=True, kw_only=True):
    """What is told through each channel: the JSON that a command gets."""

    #: Equal for each sending of one notification.
    key: str
    at: datetime
    topic: str
    subject: str
    text: str
    #: The tasks that the message is about.
    tasks: tuple[str, ...] = ()
    #: Of a question: what an answer names, and the answers that the agent offers.
    nonce: str = ""
    options: tuple[str, ...] = ()


def compare(
    known: Mapping[str, NoticeState],
    found: Sequence[Notice],
    now: datetime,
    settings: NotifySettings,
    *,
    first: bool = False,
) -> list[NoticeState]:
    """The states of notices that change by what was found. `first`: nothing was known before, so
    that what happened already is no news.
    """
    there = {notice.key: notice for notice in found}
    changed: list[NoticeState] = []
    for key, notice in there.items():
        old = known.get(key)
        if old is None or (old.ended_at is not None and now - old.ended_at >= SAME):
            old_news = first and notice.topic in SEEN_BY_LOOKING
            due = None if old_news else first_due(notice, now, settings)
            changed.append(NoticeState(notice=notice, since=now, due=due))
        elif old.ended_at is not None:
            changed.append(structs.replace(old, notice=notice, ended_at=None))
    for key, old in known.items():
        waits = not old.notice.lasts and old.due is not None
        if key not in there and old.ended_at is None and not waits:
            changed.append(structs.replace(old, due=None, ended_at=now))
    return changed


def first_due(notice: Notice, now: datetime, settings: NotifySettings) -> datetime:
    """When a person is told of something new. `now` is in the person's zone."""
    if notice.topic not in settings.on:
        return _next(now, settings.digest_time().hour, settings.digest_time().minute)
    question = notice.topic == "question"
    end = quiet_until(now, settings)
    if end is not None and not (question and notice.urgent):
        return end
    return now if question else now + TOGETHER


def quiet_until(now: datetime, settings: NotifySettings) -> datetime | None:
    """The end of the quiet hours; None outside of them."""
    hours = settings.quiet_hours()
    if hours is None:
        return None
    begin, end = hours
    clock = now.time()
    inside = begin <= clock < end if begin <= end else clock >= begin or clock < end
    return _next(now, end.hour, end.minute) if inside else None


def due_now(
    known: Collection[NoticeState], now: datetime, *, looking: bool = False
) -> list[NoticeState]:
    """What is to be told now; what waits for company goes with what is due. `looking`: a person
    looks at fleet just now.
    """
    ready = [each for each in known if each.due is not None and each.due <= now]
    if any(each.notice.topic != "question" for each in ready):
        soon = now + TOGETHER
        ready = [each for each in known if each.due is not None and each.due <= soon]
    if looking:
        ready = [each for each in ready if each.notice.topic not in SEEN_BY_LOOKING]
    return sorted(ready, key=lambda each: each.since)


def after_telling(state: NoticeState, now: datetime, settings: NotifySettings) -> NoticeState:
    """The state of a notice after telling: a question is told again while open."""
    times, again = state.times + 1, None
    if state.notice.topic == "question" and times < OFTEN:
        later = now + timedelta(seconds=seconds(settings.again))
        again = quiet_until(later, settings) or later
    return structs.replace(state, times=times, due=again)


def put_off(state: NoticeState, now: datetime) -> NoticeState:
    """A notice that comes too soon after many others."""
    return structs.replace(state, due=now + timedelta(hours=1))


def notifications(
    ready: Sequence[NoticeState], now: datetime, settings: NotifySettings, nonces: Iterator[str]
) -> Iterator[tuple[Notification, tuple[NoticeState, ...]]]:
    """The notifications for what is due, each with its notices: one a question, and one for the
    rest.
    """
    for each in ready:
        if each.notice.topic == "question":
            again = " (still open)" if each.times else ""
            subject = f"{headline(each.notice)}{again}"
            text = _words(each.notice, settings)
            yield _notification((each,), now, subject, text, next(nonces)), (each,)
    rest = tuple(each for each in ready if each.notice.topic != "question")
    if len(rest) == 1:
        notice = rest[0].notice
        yield _notification(rest, now, headline(notice), _words(notice, settings)), rest
    elif rest:
        shown = [f"- {headline(each.notice)}" for each in rest[:_LINES]]
        more = [f"and {len(rest) - _LINES} more"] if len(rest) > _LINES else []
        yield _notification(rest, now, _count(rest), "\n".join((*shown, *more))), rest


def _notification(
    states: tuple[NoticeState, ...], now: datetime, subject: str, text: str, nonce: str = ""
) -> Notification:
    words = "\0".join(f"{each.key} {each.since.timestamp()} {each.times}" for each in states)
    topics = {each.notice.topic for each in states}
    return Notification(
        key=sha256(words.encode()).hexdigest()[:16],
        at=now,
        topic=topics.pop() if len(topics) == 1 else "several",
        subject=subject,
        text=text,
        tasks=tuple(dict.fromkeys(each.notice.task for each in states if each.notice.task)),
        nonce=nonce,
        options=states[0].notice.options if nonce else (),
    )


def _count(rest: Sequence[NoticeState]) -> str:
    news = all(each.notice.topic in SEEN_BY_LOOKING for each in rest)
    return f"fleet: {len(rest)} {'tasks are done' if news else 'things need you'}"


def headline(notice: Notice) -> str:
    """The subject of a notification about one notice, or its line in one about several."""
    match notice.topic:
        case "question" | "blocked" | "landing" | "trust" | "closed":
            return f"{_name(notice)}: {notice.state}".rstrip(": ")
        case _:
            return f"fleet: {notice.text[:_HEADLINE]}"


def _name(notice: Notice) -> str:
    return f"{notice.task} {notice.title}".strip()


def _words(notice: Notice, settings: NotifySettings) -> str:
    """The text of a notification about one notice, and the command to act on the notice."""
    text = notice.text if settings.detail == "full" and notice.task else ""
    if not notice.task and len(notice.text) > _HEADLINE:  # else the subject has all of the text
        text = notice.text
    shown = text if len(text) <= _MOST else f"{text[:_MOST]} …"
    parts = (shown.strip(), f"→ {notice.way_on}" if notice.way_on else "")
    return "\n\n".join(part for part in parts if part)


def _next(now: datetime, hour: int, minute: int) -> datetime:
    """The next time that the clock shows this."""
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)
