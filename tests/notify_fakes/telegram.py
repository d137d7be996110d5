"""Telegram's bot interface: messages, buttons, edits, and updates by long poll."""

import itertools
import json
import time

from tests.notify_fakes.http_fake import HttpFake

TOKEN = "1234:SECRET"


class TelegramFake(HttpFake):
    def __init__(self):
        self.sent, self.edits, self.notes = [], [], []
        self.updates = []
        #: Answers that calls of a method get instead, one a call.
        self.troubles = {}
        self._numbers = itertools.count(100)
        self._update_ids = itertools.count(5000)
        super().__init__()

    def answer(self, method, path, body):
        token, _, name = path.removeprefix("/bot").partition("/")
        if token != TOKEN:
            return 401, {"ok": False, "description": "Unauthorized"}
        given = json.loads(body or "{}")
        with self.changed:
            if self.troubles.get(name):
                status, value = self.troubles[name].pop(0)
                return status, {"ok": False, "error_code": status, **value}
        if name == "getUpdates":
            return 200, {"ok": True, "result": self._poll(given)}
        with self.changed:
            result = True
            if name == "getMe":
                result = {"username": "fleet_bot"}
            elif name == "sendMessage":
                result = {**given, "message_id": next(self._numbers)}
                self.sent.append(result)
            elif name == "editMessageText":
                self.edits.append(given)
            elif name == "answerCallbackQuery":
                self.notes.append(given)
            self.changed.notify_all()
        return 200, {"ok": True, "result": result}

    def _poll(self, given):
        end = time.monotonic() + given.get("timeout", 0)
        with self.changed:
            while True:
                self.updates = [u for u in self.updates if u["update_id"] >= given["offset"]]
                left = end - time.monotonic()
                if self.updates or left <= 0:
                    return list(self.updates)
                self.changed.wait(left)

    def _update(self, **body):
        with self.changed:
            self.updates.append({"update_id": next(self._update_ids), **body})
            self.changed.notify_all()

    def press(self, user, message, number, *, data=None, chat=None):
        """A person presses a button of a message; `data`: what their program sends in its place."""
        buttons = message["reply_markup"]["inline_keyboard"]
        data = data or buttons[number][0]["callback_data"]
        bears = {"message_id": message["message_id"], "chat": {"id": chat or user}}
        query = {"id": "cb1", "from": {"id": user}, "message": bears, "data": data}
        self._update(callback_query=query)

    def say(self, user, text, reply_to=None, chat=None):
        """A person writes to the bot; `chat`: in a group."""
        earlier = {"reply_to_message": {"message_id": reply_to}} if reply_to else {}
        sender = {"id": user, "first_name": "Ada"}
        place = {"id": chat or user}
        self._update(message={"from": sender, "chat": place, "text": text, **earlier})

    def send_update(self, **body):
        """Anything else that comes to the bot."""
        self._update(**body)
