"""Why a CLI fails to start, from the stderr before the first event. Pure.

Only valid before the first event: until then no text of an agent can be among the words.
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
    """The reason that the words tell; None if they tell none."""
    for reason, pattern in _PATTERNS:
        if pattern.search(words):
            return reason
    return None
