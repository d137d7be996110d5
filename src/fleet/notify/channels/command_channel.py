"""A program of the person's own, which gets each message as JSON on its standard input."""

from collections.abc import Sequence

import msgspec

from fleet.control.notify.run_command import run_command
from fleet.control.notify.telling_rules import Notification
from fleet.notify.channels.channel_protocol import NotSent, Sent


class CommandChannel:
    """The program; its exit code says whether it took the message."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)
        self.name = "command"

    def send(self, message: Notification) -> Sent | NotSent:
        problem = run_command(self._argv, msgspec.json.encode(message))
        return NotSent(problem=problem) if problem else Sent()

    def end_question(self, remote: str, words: str) -> None:
        """A program keeps its own account of what it was told."""
        del remote, words
