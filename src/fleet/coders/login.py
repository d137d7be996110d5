"""A login as a CLI keeps it in a file: what of it a box gets, and until when it is good. Pure."""

from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha256

from msgspec import Struct

#: claude and codex renew a login that ends within five minutes, and none that ends later.
RENEWED_WITHIN = timedelta(seconds=290)


class Login(Struct, frozen=True, kw_only=True, dict=True):
    """What fleet knows of a CLI's login by its file."""

    #: The content of the file for a box: the same login without its refresh token.
    boxed: bytes
    #: The access token, where fleet knows which part of that it is.
    access: str = ""
    #: When the access token ends; None: the file does not tell.
    ends: datetime | None = None
    #: Whether the file holds a refresh token.
    renewable: bool = False
    #: The vendor's account; empty: not known.
    owner: str = ""

    def __repr__(self) -> str:
        """No secret reaches a log or a traceback."""
        return f"Login({self.mark[:8]}, ends={self.ends})"

    @cached_property
    def mark(self) -> str:
        """Tells two access tokens apart, and nothing of either."""
        return sha256(self.access.encode() or self.boxed).hexdigest()

    def is_due(self, now: datetime) -> bool:
        """The access token has ended, or ends so soon that the CLI renews the login."""
        return self.ends is not None and self.ends <= now + RENEWED_WITHIN

    def supersedes(self, old: "Login") -> bool:
        """The file holds a newer access token of the same account."""
        if self.mark == old.mark or (self.owner and old.owner and self.owner != old.owner):
            return False
        return self.ends is None or old.ends is None or self.ends > old.ends
