"""A program of the person's own, which gets each message as JSON on standard input."""

from collections.abc import Sequence

import msgspec

from fleet.control.notify.run_command import run_command
from fleet.control.notify.telling_rules import Notification
from fleet.notify.channels.channel_protocol import NotSent, Sent


class CommandChannel:
    """The program; the exit code says whether the message was taken."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)
        self.name = "command"

    def send(self, message: Notification) -> Sent | NotSent:
        problem = run_command(self._argv, msgspec.json.encode(message))
        return NotSent(problem=problem) if problem else Sent()

    def end_question(self, remote: str, words: str) -> None:
        """Do nothing: the program itself keeps account of what was told."""
        del remote, words
