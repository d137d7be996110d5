"""ntfy: a topic that tells, and a second one, which the buttons of a question send their answer to.

A topic's name is its password. A button holds the question's nonce and an option, and no token.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from fleet.control.notify.telling_rules import Notification
from fleet.notify.channels.channel_protocol import NotSent, PersonReply, ReadTrouble, Sent, pressed
from fleet.notify.channels.http_json import HttpAnswer, ask
from fleet.schemas import typed

#: Seconds for one call.
_PATIENCE = 15.0
#: Seconds between two looks for replies.
_PAUSE = 1.0
#: ntfy shows no more buttons, and takes no longer text.
_BUTTONS, _LONGEST = 3, 3500


class _NtfyEvent(Struct, frozen=True):
    """One line of a topic."""

    event: str = ""
    id: str = ""
    message: str = ""


class Ntfy:
    """One topic on one server, and the topic that its buttons send to."""

    def __init__(self, url: str, topic: str, token: str) -> None:
        self.name, self.pause = "ntfy", _PAUSE
        self._url, self._topic, self._answers = url.rstrip("/"), topic, f"{topic}-answers"
        self._headers: Mapping[str, str] = {"Authorization": f"Bearer {token}"} if token else {}

    def send(self, message: Notification) -> Sent | NotSent:
        body = {
            "topic": self._topic,
            "title": message.subject[:250],
            "message": message.text[:_LONGEST] or message.subject,
            "priority": 4 if message.nonce else 3,
            "actions": [
                {
                    "action": "http",
                    "label": option[:40],
                    "url": f"{self._url}/{self._answers}",
                    "body": f"{message.nonce}:{number}",
                    "clear": True,
                }
                for number, option in enumerate(message.options[:_BUTTONS])
                if message.nonce
            ],
        }
        answer = ask(self._url, body, timeout=_PATIENCE, headers=self._headers)
        if answer.status == 200:
            return Sent(str(answer.value.get("id", "")))
        return NotSent(problem=_problem(answer))

    def end_question(self, remote: str, words: str) -> None:
        """Tell the end in a new message: ntfy cannot change what was sent."""
        del remote
        body = {"topic": self._topic, "message": words[:_LONGEST], "priority": 2}
        ask(self._url, body, timeout=_PATIENCE, headers=self._headers)

    def replies(self, since: str) -> tuple[list[PersonReply], str]:
        url = f"{self._url}/{self._answers}/json?poll=1&since={since or '12h'}"
        answer = ask(url, timeout=_PATIENCE, headers=self._headers)
        if answer.status != 200:
            raise ReadTrouble(_problem(answer))
        place, found = since, list[PersonReply]()
        for line in answer.text.splitlines():
            try:
                event = typed.decode(line, _NtfyEvent)
            except msgspec.MsgspecError:
                continue
            if event.event != "message":
                continue
            place = event.id or place
            nonce, option = pressed(event.message)
            if option is not None:
                found.append(PersonReply(by="ntfy", id=place, nonce=nonce, option=option))
        return found, place

    def acknowledge(self, reply: PersonReply, words: str) -> None:
        """Do nothing: the end of the question is told on the topic, as a button cannot show it."""
        del reply, words


def _problem(answer: HttpAnswer) -> str:
    if answer.status == 0:
        return f"ntfy cannot be reached: {answer.text}"
    return f"ntfy answered {answer.status}: {str(answer.value.get('error') or answer.text)[:200]}"
