"""Telegram, by four methods of the bot interface: answers come by button, or as a reply.

`getUpdates` needs no address that the world can reach, and takes one reader a token. A bot is found
by anyone, so only the numeric ids of the settings are told, heard or answered, each in its own chat
with the bot: the number of a message means a question in that chat alone.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from fleet.control.notify.telling_rules import Notification
from fleet.notify.channels.channel_protocol import NotSent, PersonReply, ReadTrouble, Sent, pressed
from fleet.notify.channels.http_json import ask
from fleet.schemas import typed

#: Seconds for one call; and how long one call for updates waits for some.
_PATIENCE, _POLL = 15.0, 25
#: Telegram takes no longer text.
_LONGEST = 4000
_KINDS = '["message","callback_query"]'


class _Sender(Struct, frozen=True):
    id: int
    first_name: str = ""


class _Chat(Struct, frozen=True):
    id: int = 0


class _Earlier(Struct, frozen=True):
    message_id: int = 0
    chat: _Chat | None = None


class PersonText(Struct, frozen=True):
    """A text that a person sent to the bot."""

    sender: _Sender | None = field(default=None, name="from")
    chat: _Chat | None = None
    text: str = ""
    reply_to_message: _Earlier | None = None


class Pressed(Struct, frozen=True):
    """A button that a person pressed."""

    id: str
    sender: _Sender | None = field(default=None, name="from")
    #: The message that bears the button.
    message: _Earlier | None = None
    data: str = ""

    @property
    def chat(self) -> _Chat | None:
        return self.message.chat if self.message is not None else None


class Update(Struct, frozen=True):
    """What came to the bot."""

    update_id: int
    message: PersonText | None = None
    callback_query: Pressed | None = None


class _Parameters(Struct, frozen=True):
    retry_after: float | None = None


class _Place(Struct, frozen=True):
    update_id: int


class BotAnswer(Struct, frozen=True):
    """What Telegram answers to any method."""

    ok: bool = False
    description: str = ""
    parameters: _Parameters = field(default_factory=_Parameters)
    result: Any = None
    #: The status of HTTP; 0: Telegram was not reached.
    status: int = 0

    @property
    def problem(self) -> str:
        if self.status == 0:
            return f"Telegram cannot be reached: {self.description}"
        if self.status == 409:
            return f"another program reads this bot's messages ({self.description})"
        return f"Telegram answered {self.status}: {self.description}"


class Bot:
    """One bot, by token."""

    def __init__(self, base_url: str, token: str) -> None:
        self._address = f"{base_url.rstrip('/')}/bot{token}"
        self._token = token

    def call(self, method: str, *, wait: int = 0, **fields: Any) -> BotAnswer:
        """One method; `wait` is how many seconds the bot may take for an answer on purpose."""
        given = {**fields, "timeout": wait} if wait else fields
        answer = ask(f"{self._address}/{method}", given, timeout=wait + _PATIENCE)
        text = answer.text.replace(self._token, "***")
        try:
            reply = typed.decode(text, BotAnswer)
        except msgspec.MsgspecError:
            reply = BotAnswer(description=text[:200])
        return msgspec.structs.replace(reply, status=answer.status)

    def name(self) -> str:
        """What people call the bot; empty if Telegram does not know the bot."""
        found = self.call("getMe").result
        return str(_get(found, "username", ""))


class TelegramChannel:
    """One person's chat with the bot."""

    def __init__(self, bot: Bot, user: int) -> None:
        self._bot, self._user = bot, user
        self.name = f"telegram:{user}"

    def send(self, message: Notification) -> Sent | NotSent:
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
        if answer.ok:
            return Sent(f"{self._user}/{_get(answer.result, 'message_id', 0)}")
        return NotSent(problem=answer.problem, retry_after=answer.parameters.retry_after)

    def end_question(self, remote: str, words: str) -> None:
        number = int(remote.partition("/")[2] or 0)
        text = words[:_LONGEST]
        self._bot.call("editMessageText", chat_id=self._user, message_id=number, text=text)


class TelegramReader:
    """What the people of the settings send to the bot."""

    def __init__(self, bot: Bot, users: Sequence[int]) -> None:
        self._bot, self._users = bot, frozenset(users)
        self.name, self.pause = "telegram", 0.0

    def replies(self, since: str) -> tuple[list[PersonReply], str]:
        found, place = updates(self._bot, since, _POLL)
        return [reply for each in found if (reply := self._reply(each)) is not None], place

    def _reply(self, update: Update) -> PersonReply | None:
        body = update.callback_query or update.message
        if body is None or body.sender is None or body.sender.id not in self._users:
            return None  # a stranger is not even told that there is something here
        sender = body.sender.id
        if body.chat is None or body.chat.id != sender:
            return None  # a group counts its messages by itself, and others read it
        by = f"telegram {sender}"
        if isinstance(body, Pressed):
            nonce, option = pressed(body.data)
            return PersonReply(by=by, id=f"press/{body.id}", nonce=nonce, option=option)
        earlier = body.reply_to_message
        remote = f"{sender}/{earlier.message_id}" if earlier is not None else ""
        return PersonReply(by=by, id=f"say/{sender}", remote=remote, text=body.text)

    def acknowledge(self, reply: PersonReply, words: str) -> None:
        kind, _, rest = reply.id.partition("/")
        if kind == "press":
            self._bot.call("answerCallbackQuery", callback_query_id=rest, text=words[:190])
        else:
            self._bot.call("sendMessage", chat_id=int(rest), text=words)


def updates(bot: Bot, since: str, wait: int) -> tuple[list[Update], str]:
    """What the bot was sent since a place, and the new place. Raises ReadTrouble."""
    offset = int(since or 0)
    answer = bot.call("getUpdates", wait=wait, offset=offset, allowed_updates=_KINDS)
    if not answer.ok:
        raise ReadTrouble(answer.problem, answer.parameters.retry_after)
    newest, found = offset - 1, list[Update]()
    for each in _listed(answer.result):
        try:
            newest = max(newest, typed.convert(each, _Place).update_id)
            found.append(typed.convert(each, Update))
        except msgspec.ValidationError:
            continue  # one that cannot be read keeps no other from being read
    return found, str(newest + 1)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def _get(value: Any, name: str, default: Any) -> Any:
    """A field of an object that is not known to be one."""
    return value.get(name, default) if isinstance(value, dict) else default  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
