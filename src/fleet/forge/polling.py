"""When a forge is asked again about a pull request. Pure.

Soon while something is under way, and ever more seldom while nothing changes: a pull request may
wait for a person for days.
"""

from datetime import datetime, timedelta

from fleet.forge.pull_request import PullRequest, PullRequestFacts

SOONEST = timedelta(seconds=10)
LATEST = timedelta(minutes=10)
#: The pause grows with the time since anything changed: a tenth of it.
_SHARE = 10


def next_look(pr: PullRequest, facts: PullRequestFacts, changed_at: datetime) -> datetime:
    """When to ask again after these facts; `changed_at`: since when they say the same."""
    quiet = facts.at - max(changed_at, pr.pushed_at)
    pause = min(max(quiet / _SHARE, SOONEST), LATEST)
    if facts.running:  # a check that ends is what the task waits for
        pause = min(pause, timedelta(minutes=1))
    return facts.at + pause


def after_silence(failures: int, now: datetime) -> datetime:
    """When to ask again after `failures` questions in a row without an answer."""
    return now + min(SOONEST * 2 ** min(failures, 10), LATEST)


def says_the_same(before: PullRequestFacts, facts: PullRequestFacts) -> bool:
    """Nothing but the time differs."""
    ours = [getattr(before, name) for name in facts.__struct_fields__ if name != "at"]
    return ours == [getattr(facts, name) for name in facts.__struct_fields__ if name != "at"]
