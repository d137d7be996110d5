"""An ntfy server: publishing, and polling a topic."""

import itertools
import json

from tests.notify_fakes.http_fake import HttpFake


class NtfyFake(HttpFake):
    def __init__(self):
        self.topics = {}
        self._ids = itertools.count(1)
        super().__init__()

    def answer(self, method, path, body):
        if method == "GET":
            topic, _, query = path.strip("/").partition("/json?")
            since = dict(pair.split("=") for pair in query.split("&"))["since"]
            events = self.topics.get(topic, [])
            known = [number for number, each in enumerate(events) if each["id"] == since]
            lines = events[known[0] + 1 :] if known else events
            return 200, "".join(f"{json.dumps(each)}\n" for each in lines)
        if path == "/":
            given = json.loads(body)
            return 200, self.publish(given.pop("topic"), **given)
        return 200, self.publish(path.strip("/"), message=body)

    def publish(self, topic, **event):
        with self.changed:
            stored = {**event, "id": f"m{next(self._ids)}", "event": "message"}
            self.topics.setdefault(topic, []).append(stored)
            self.changed.notify_all()
        return stored

    def press(self, message, number):
        """A person presses a button: their phone sends what the button holds."""
        action = message["actions"][number]
        self.publish(action["url"].rpartition("/")[2], message=action["body"])
