"""Telegram, by four methods of its bot interface: answers come by button, or as a reply.

`getUpdates` needs no address that the world can reach, and takes one reader a token. A bot is found
by anyone, so only the numeric ids of the settings are told, heard or answered.
"""

from collections.abc import Sequence
from typing import Any

from fleet.control.notify.telling_rules import Message
from fleet.notify.channels.channel_protocol import NotSent, ReadTrouble, Reply, Sent
from fleet.notify.channels.http_json import Answer, ask

#: Seconds for one call; and how long one call for updates waits for some.
_PATIENCE, _POLL = 15.0, 25
#: Telegram takes no longer text.
_LONGEST = 4000
_KINDS = '["message","callback_query"]'


class Bot:
    """One bot, by its token."""

    def __init__(self, base_url: str, token: str) -> None:
        self._address = f"{base_url.rstrip('/')}/bot{token}"
        self._token = token

    def call(self, method: str, *, wait: int = 0, **fields: Any) -> Answer:
        """One method; `wait` is how many seconds the bot may take for an answer on purpose."""
        given = {**fields, "timeout": wait} if wait else fields
        answer = ask(f"{self._address}/{method}", given, timeout=wait + _PATIENCE)
        return Answer(answer.status, answer.text.replace(self._token, "***"))


class TelegramChannel:
    """One person's chat with the bot."""

    def __init__(self, bot: Bot, user: int) -> None:
        self._bot, self._user = bot, user
        self.name = f"telegram:{user}"

    def send(self, message: Message) -> Sent | NotSent:
        how = "\n\nReply to this message to answer." if message.nonce else ""
        text = f"{message.subject}\n\n{message.text}".strip()[: _LONGEST - len(how)] + how
        fields: dict[str, Any] = {"chat_id": self._user, "text": text}
        if message.nonce and message.options:
            fields["reply_markup"] = {
                "inline_keyboard": [
                    [{"text": option[:60], "callback_data": f"{message.nonce}:{number}"}]
                    for number, option in enumerate(message.options)
                ]
            }
        answer = self._bot.call("sendMessage", **fields)
        if answer.value.get("ok"):
            return Sent(f"{self._user}/{answer.value['result']['message_id']}")
        return NotSent(problem=_problem(answer), retry_after=_retry_after(answer))

    def end_question(self, remote: str, words: str) -> None:
        number = int(remote.partition("/")[2] or 0)
        text = words[:_LONGEST]
        self._bot.call("editMessageText", chat_id=self._user, message_id=number, text=text)


class TelegramReader:
    """What the people of the settings send to the bot."""

    name = "telegram"

    def __init__(self, bot: Bot, users: Sequence[int]) -> None:
        self._bot, self._users = bot, frozenset(users)

    def replies(self, since: str) -> tuple[list[Reply], str]:
        found, place = updates(self._bot, since, _POLL)
        return [reply for each in found if (reply := self._reply(each)) is not None], place

    def _reply(self, update: dict[str, Any]) -> Reply | None:
        pressed, said = update.get("callback_query"), update.get("message") or {}
        sender = sender_of(update)
        if sender not in self._users:
            return None  # a stranger is not even told that there is something here
        by = f"telegram {sender}"
        if pressed:
            nonce, _, number = str(pressed.get("data", "")).partition(":")
            option = int(number) if number.isdigit() else None
            return Reply(by=by, id=f"press/{pressed.get('id')}", nonce=nonce, option=option)
        earlier = (said.get("reply_to_message") or {}).get("message_id")
        remote = f"{sender}/{earlier}" if earlier else ""
        return Reply(by=by, id=f"say/{sender}", remote=remote, text=str(said.get("text", "")))

    def acknowledge(self, reply: Reply, words: str) -> None:
        kind, _, rest = reply.id.partition("/")
        if kind == "press":
            self._bot.call("answerCallbackQuery", callback_query_id=rest, text=words[:190])
        else:
            self._bot.call("sendMessage", chat_id=int(rest), text=words)


def sender_of(update: dict[str, Any]) -> int | None:
    """The numeric id of the person that an update is from."""
    body = update.get("callback_query") or update.get("message") or {}
    found = (body.get("from") or {}).get("id")
    return found if isinstance(found, int) else None


def updates(bot: Bot, since: str, wait: int) -> tuple[list[dict[str, Any]], str]:
    """What the bot was sent since a place, and the new place. Raises ReadTrouble."""
    offset = int(since or 0)
    answer = bot.call("getUpdates", wait=wait, offset=offset, allowed_updates=_KINDS)
    if not answer.value.get("ok"):
        raise ReadTrouble(_problem(answer), _retry_after(answer))
    found = [each for each in answer.value.get("result", []) if isinstance(each, dict)]
    newest = max((int(each["update_id"]) for each in found), default=offset - 1)
    return found, str(newest + 1)


def _problem(answer: Answer) -> str:
    if answer.status == 0:
        return f"Telegram cannot be reached: {answer.text}"
    told = str(answer.value.get("description") or answer.text)[:200]
    if answer.status == 409:
        return f"another program reads this bot's messages ({told})"
    return f"Telegram answered {answer.status}: {told}"


def _retry_after(answer: Answer) -> float | None:
    found = (answer.value.get("parameters") or {}).get("retry_after")
    return float(found) if isinstance(found, int | float) else None
