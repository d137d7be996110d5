"""What follows from the facts of a pull request, and when the forge is asked again. Pure.

Each kind of trouble is looked at by itself, so that none hides another: failed checks, remarks of
reviewers, a conflict. The agent of the task gets each once, known by the head and what it was
about; after some rounds of a kind a person is asked. The forge is asked soon while something is
under way, and ever more seldom while nothing changes: a pull request may wait for days.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct, structs

from fleet.forge.forge_protocol import ForgeCheck, PullRequestFacts, ReviewThread
from fleet.forge.pull_request_json import PullRequest
from fleet.schemas.backoff import Backoff

BackKind = Literal["checks", "review", "conflict"]

#: How often the agent gets each kind of trouble before a person is asked.
ROUNDS: Mapping[BackKind, int] = {"checks": 2, "review": 3, "conflict": 3}
#: Checks of a commit that was just pushed may not have begun: for this long a commit without
#: checks counts as unchecked.
CHECKS_BEGIN = timedelta(seconds=60)
_CLIP = 4000
#: Between two questions to the forge about one pull request.
SOONEST, LATEST = timedelta(seconds=10), timedelta(minutes=10)
#: That pause grows with the time since anything changed: a tenth of it.
_SHARE = 10


class SendBack(Struct, frozen=True, kw_only=True):
    """The agent of the task is to mend this."""

    kind: BackKind
    key: str
    #: What the agent is told.
    text: str


class AskPerson(Struct, frozen=True, kw_only=True):
    """A person has to decide."""

    key: str
    why: str


class MergeNow(Struct, frozen=True, kw_only=True):
    """Nothing is in the way: the forge is to merge this head."""

    head: str


class MergedThere(Struct, frozen=True, kw_only=True):
    """The forge merged the pull request."""

    commit: str


class KeepWatching(Struct, frozen=True, kw_only=True):
    """Nothing is to be done; why."""

    why: str


Reaction = SendBack | AskPerson | MergeNow | MergedThere | KeepWatching


def reactions(
    pr: PullRequest, facts: PullRequestFacts, *, may_merge: bool, now: datetime
) -> tuple[Reaction, ...]:
    """What is to be done about a pull request; `pr.facts` are those from before.

    `may_merge`: fleet merges what the forge would let it (`land = auto`, or a person approved).
    """
    if facts.state == "merged":
        return (MergedThere(commit=facts.merge_commit),)
    if facts.state == "closed":
        why = f"pull request #{pr.number} was closed without being merged"
        asked = _fresh(pr, [AskPerson(key=_key(facts, "closed"), why=why)])
        return asked or (KeepWatching(why=why),)
    if facts.head != pr.head:
        return _other_head(pr, facts)
    troubles: list[SendBack | AskPerson] = [
        *_conflict(pr, facts),
        *_checks(pr, facts),
        *_review(pr, facts),
    ]
    if _left_queue(pr, facts):
        why = f"the forge took pull request #{pr.number} out of its merge queue"
        troubles.append(AskPerson(key=_key(facts, "queue"), why=why))
    if fresh := _fresh(pr, troubles):
        return fresh
    waiting = why_waiting(pr, facts, may_merge=may_merge, now=now)
    if waiting or troubles:
        return (KeepWatching(why=waiting or "waits for a person"),)
    return (MergeNow(head=facts.head),)


def why_waiting(pr: PullRequest, facts: PullRequestFacts, *, may_merge: bool, now: datetime) -> str:
    """What a pull request waits for, for people; empty: for nothing."""
    done, count = len(facts.checks) - len(facts.running), len(facts.checks)
    early = not facts.checks and now - pr.pushed_at < CHECKS_BEGIN
    waits = {
        "is in the forge's merge queue": facts.queued,
        "is a draft": facts.draft,
        f"checks run, {done} of {count} ended": bool(facts.running),
        "checks failed": bool(facts.failed),
        "waits for checks to begin": early,
        "conflicts with its base": facts.mergeable is False,
        "the forge has not said yet whether it can be merged": facts.mergeable is None,
        "changes are requested": facts.review == "changes_requested",
        "waits for a review": facts.review == "required",
        f"waits for {len(facts.threads)} open remarks of reviewers": bool(facts.threads),
        "waits for a person to merge it, or: fleet land": not may_merge,
        "the forge was asked to merge it": pr.merge_asked == facts.head,
    }
    return next((why for why, holds in waits.items() if holds), "")


def noted(pr: PullRequest, facts: PullRequestFacts, done: tuple[Reaction, ...]) -> PullRequest:
    """The pull request with these facts, and with what is carried out because of them."""
    keys = [each.key for each in done if isinstance(each, SendBack | AskPerson)]
    keys += [_key(facts, "queued")] if facts.queued else []
    rounds = dict(pr.rounds)
    for each in done:
        if isinstance(each, SendBack):
            rounds[each.kind] = rounds.get(each.kind, 0) + 1
    asked = next((each.head for each in done if isinstance(each, MergeNow)), pr.merge_asked)
    all_keys = tuple(dict.fromkeys((*pr.done, *_each_id(keys))))
    fresh = {"done": all_keys, "rounds": rounds, "merge_asked": asked}
    return structs.replace(pr, facts=facts, failures=0, trouble="", **fresh)


def next_look(pr: PullRequest, facts: PullRequestFacts, changed_at: datetime) -> datetime:
    """When to ask again after these facts; `changed_at`: since when they say the same."""
    quiet = facts.at - max(changed_at, pr.pushed_at)
    pause = min(max(quiet / _SHARE, SOONEST), LATEST)
    if facts.running:  # a check that ends is what the task waits for
        pause = min(pause, timedelta(minutes=1))
    return facts.at + pause


def after_silence(failures: int, now: datetime) -> datetime:
    """When to ask again after `failures` questions in a row without an answer."""
    return now + Backoff(SOONEST, LATEST).pause(failures)


def says_the_same(before: PullRequestFacts, facts: PullRequestFacts) -> bool:
    """Nothing but the time differs."""
    ours = [getattr(before, name) for name in facts.__struct_fields__ if name != "at"]
    return ours == [getattr(facts, name) for name in facts.__struct_fields__ if name != "at"]


def _key(facts: PullRequestFacts, kind: str, *ids: str) -> str:
    return " ".join((facts.head, kind, *sorted(ids)))


def _each_id(keys: list[str]) -> list[str]:
    """The keys, and for remarks each separately: a remark is sent once, whatever comes after."""
    threads = [key.split(" ")[2:] for key in keys if " review " in key]
    return [*keys, *(f"thread {each}" for ids in threads for each in ids)]


def _fresh(pr: PullRequest, troubles: Sequence[SendBack | AskPerson]) -> tuple[Reaction, ...]:
    """The troubles that were not acted on before; a kind that has had all rounds asks a person."""
    found: list[SendBack | AskPerson] = []
    for each in troubles:
        if isinstance(each, SendBack) and pr.rounds.get(each.kind, 0) >= ROUNDS[each.kind]:
            key, why = f"{each.key} asked", _too_often(pr, each)
            found.append(AskPerson(key=key, why=why))
        else:
            found.append(each)
    return tuple(each for each in found if each.key not in pr.done)


def _too_often(pr: PullRequest, back: SendBack) -> str:
    what = {
        "checks": "its checks fail",
        "review": "reviewers have more remarks",
        "conflict": f"it conflicts with {pr.base}",
    }[back.kind]
    rounds = ROUNDS[back.kind]
    return f"pull request #{pr.number}: {what} after {rounds} rounds with its agent"


def _other_head(pr: PullRequest, facts: PullRequestFacts) -> tuple[Reaction, ...]:
    if facts.head in pr.heads:
        return (KeepWatching(why="the forge has not seen the latest push yet"),)
    why = (
        f"another hand pushed {facts.head[:12]} to {pr.branch}, which fleet has not verified:"
        f" merge pull request #{pr.number} on the forge if it is right"
    )
    asked = _fresh(pr, [AskPerson(key=_key(facts, "head"), why=why)])
    return asked or (KeepWatching(why=why),)


def _conflict(pr: PullRequest, facts: PullRequestFacts) -> list[SendBack]:
    """The conflict, once told twice: a forge that has not tried the merge yet may call a merge
    impossible.
    """
    before = pr.facts
    twice = before is not None and before.head == facts.head and before.mergeable is False
    if facts.mergeable is not False or not twice:
        return []
    text = f"The pull request of this task conflicts with {pr.base}, which has moved on."
    return [SendBack(kind="conflict", key=_key(facts, "conflict"), text=text)]


def _checks(pr: PullRequest, facts: PullRequestFacts) -> list[SendBack]:
    """All failed checks together, once none runs any more: each round counts."""
    if not facts.failed or facts.running:
        return []
    lines = "\n".join(map(_check_line, facts.failed))
    names = [check.name.replace(" ", "_") for check in facts.failed]
    text = f"Checks of the pull request (#{pr.number}) failed on {facts.head[:12]}:\n{lines}"
    return [SendBack(kind="checks", key=_key(facts, "checks", *names), text=text)]


def _review(pr: PullRequest, facts: PullRequestFacts) -> list[SendBack]:
    new = [each for each in facts.threads if f"thread {each.id}" not in pr.done]
    if not new:
        return []
    lines = "\n\n".join(map(_thread_text, new))
    text = f"Reviewers of the pull request (#{pr.number}) remarked:\n\n{lines}"
    return [
        SendBack(kind="review", key=_key(facts, "review", *(each.id for each in new)), text=text)
    ]


def _left_queue(pr: PullRequest, facts: PullRequestFacts) -> bool:
    return not facts.queued and _key(facts, "queued") in pr.done


def _check_line(check: ForgeCheck) -> str:
    said = f": {check.text[:_CLIP]}" if check.text else ""
    return f"- {check.name}{said}" + (f" ({check.url})" if check.url else "")


def _thread_text(thread: ReviewThread) -> str:
    place = f"{thread.path}:{thread.line}" if thread.line else thread.path
    head = f"{thread.author}, {place}:" if place else f"{thread.author}:"
    return f"{head}\n{thread.text[:_CLIP]}"
