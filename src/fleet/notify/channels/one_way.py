"""Channels that bring no answer: a program of the person's own, any service that apprise knows."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fleet.control.notify.channel_settings import how_to_add_apprise, run_command
from fleet.control.notify.telling_rules import Notification
from fleet.errors import BadInput
from fleet.notify.channels.channel_protocol import NotSent, Sent


class CommandChannel:
    """A program that gets each message as JSON on standard input; the exit code says whether the
    message was taken.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)
        self.name = "command"

    def send(self, message: Notification) -> Sent | NotSent:
        problem = run_command(self._argv, msgspec.json.encode(message))
        return NotSent(problem=problem) if problem else Sent()

    def end_question(self, remote: str, words: str) -> None:
        """Do nothing: the program itself keeps account of what was told."""
        del remote, words


class AppriseChannel:
    """One address of a service."""

    def __init__(self, number: int, address: str) -> None:
        try:
            import apprise  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            raise BadInput("apprise is not installed", hint=how_to_add_apprise()) from None
        scheme = address.partition(":")[0]
        self.name = f"apprise:{number}:{scheme}"
        self._apprise: Any = apprise.Apprise()
        if not self._apprise.add(address):
            # The address may hold a password, so it is not repeated.
            raise BadInput(
                f"address {number} of notify.to ({scheme}://…) is no service that apprise knows",
                hint="See the list of its services; or use notify.command",
            )

    def send(self, message: Notification) -> Sent | NotSent:
        try:
            done = self._apprise.notify(title=message.subject, body=message.text or message.subject)
        except Exception as error:  # noqa: BLE001 - 170 services, each with errors of its own
            return NotSent(problem=f"{type(error).__name__}: {error}"[:200])
        return Sent() if done else NotSent(problem="the service did not take it")

    def end_question(self, remote: str, words: str) -> None:
        """Most services cannot change what was sent."""
        del remote, words
