"""Why a CLI does not begin, by what it says before its first event. Pure.

Only for then: no agent has spoken yet, so these are the CLI's own words.
"""

import re

from fleet.schemas import Reason

_AUTH = (
    r"not logged in|please (run )?/?log ?in|/login\b|invalid api key|authentication"
    r"|unauthori[sz]ed|silent auth failed|https://\S*(oauth|authorize|device)"
)
_NO_TERMINAL = (
    r"/dev/tty|not a (tty|terminal)|(open|need|requires?|without) (a )?(tty|terminal)\b"
    r"|raw mode is not supported|input must be provided|reading additional input from stdin"
    r"|inappropriate ioctl"
)
_CAUSES: tuple[tuple[Reason, str], ...] = (
    ("session_not_found", r"no rollout found for thread|no conversation found with session"),
    ("auth", _AUTH),
    ("untrusted", r"trusted directory|trust (this|the) (folder|files|directory|workspace)"),
    ("no_terminal", _NO_TERMINAL),
)
_PATTERNS: tuple[tuple[Reason, re.Pattern[str]], ...] = tuple(
    (reason, re.compile(words, re.IGNORECASE)) for reason, words in _CAUSES
)


def cause(words: str) -> Reason | None:
    """What keeps it from beginning, if its words tell."""
    for reason, pattern in _PATTERNS:
        if pattern.search(words):
            return reason
    return None
