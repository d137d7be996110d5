"""Any service that apprise knows, by address; one way."""

from typing import Any

from fleet.control.notify.telling_rules import Notification
from fleet.errors import BadInput
from fleet.notify.channels.channel_protocol import NotSent, Sent

_HOW = "Install it: uv tool install --editable './fleet[notify]', or pip install apprise"


class AppriseChannel:
    """One address."""

    def __init__(self, number: int, address: str) -> None:
        try:
            import apprise  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            raise BadInput("apprise is not installed", hint=_HOW) from None
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
