"""What the notifier asks of a channel: to send a message, and of some to bring answers."""

import re
from typing import Protocol

from msgspec import Struct

from fleet.control.notify.telling_rules import Notification


class Sent(Struct, frozen=True):
    """The channel has the message; `remote` is the channel's name for the message."""

    remote: str = ""


class NotSent(Struct, frozen=True, kw_only=True):
    """The channel did not take the message."""

    problem: str
    #: When the channel wants to be tried again, in seconds; None: it did not say.
    retry_after: float | None = None


class PersonReply(Struct, frozen=True, kw_only=True):
    """What a person sent back."""

    #: The sender: `telegram 1234`.
    by: str
    #: The channel's id of the reply, to acknowledge the reply; and the message that was replied to.
    id: str = ""
    remote: str = ""
    #: By a button: the question's nonce, and the number of the option.
    nonce: str = ""
    option: int | None = None
    text: str = ""


def pressed(data: str) -> tuple[str, int | None]:
    """The nonce and the option that a button sends, `nonce:2`. Others may send something else."""
    nonce, _, number = data.partition(":")
    return nonce, int(number) if re.fullmatch("[0-9]{1,4}", number) else None


class Channel(Protocol):
    """One way to one person or group."""

    name: str

    def send(self, message: Notification) -> Sent | NotSent:
        """Send a message, within a bounded time."""
        ...

    def end_question(self, remote: str, words: str) -> None:
        """Say at a message that told a question what became of the question; best effort."""
        ...


class ReplyReader(Protocol):
    """The way back, for one or several channels."""

    name: str
    #: Seconds after which it is asked again; 0: a call itself waits for replies.
    pause: float

    def replies(self, since: str) -> tuple[list[PersonReply], str]:
        """What came since a place that an earlier call returned, and the new place; waits for a
        while. Raises ReadTrouble.
        """
        ...

    def acknowledge(self, reply: PersonReply, words: str) -> None:
        """Tell the person what became of the reply; best effort."""
        ...


class ReadTrouble(Exception):
    """The way back does not work for now."""

    def __init__(self, problem: str, retry_after: float | None = None) -> None:
        super().__init__(problem)
        self.problem, self.retry_after = problem, retry_after
