"""Strangers on the wire: they find the bot, the topic or the page, and have no right to act."""

import threading
from datetime import UTC, datetime

import pytest

from fleet.control.acts.audit_log import lines
from fleet.control.notify.outbox import Outbox
from fleet.control.page.session_store import AT_ONCE
from fleet.home import Home, make_home
from fleet.runs.questions import asked_json
from tests.notify_fakes.ntfy import NtfyFake
from tests.notify_fakes.telegram import TelegramFake
from tests.story.scene import Scene
from tests.story.test_notify import ADA, EVE, ask, notifier, settings, wait, with_telegram
from tests.unit.web.conftest import Client, Page
from tests.unit.web.test_stream import Reader

#: A group that Ada and strangers are in, with the bot.
GROUP = -1001


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path)
    yield scene
    scene.close()


@pytest.fixture
def telegram():
    fake = TelegramFake()
    yield fake
    fake.close()


@pytest.fixture
def ntfy():
    fake = NtfyFake()
    yield fake
    fake.close()


def question(scene):
    """A question with buttons, from an agent that was told to end its turn."""
    task = ask(scene)
    folder, now = scene.folder(task), datetime.now(UTC)
    folder.mkdir(parents=True, exist_ok=True)
    asked, _ = asked_json.ask(
        folder, "Which database?", run=1, at=now, options=("SQLite", "Postgres")
    )
    asked_json.park(folder, asked.id, at=now)
    return task


def answers(scene, task):
    """What the agent is told; None: nothing yet."""
    return asked_json.last(scene.folder(task)).answer


def read_up_to(scene, channel, place):
    """The notifier has read everything so far, and noted that."""

    def noted():
        outbox = Outbox(scene.home)
        try:
            return outbox.recall(f"{channel}.since") == place
        finally:
            outbox.close()

    wait(noted)


def test_a_bot_obeys_its_people_in_their_own_chat_alone(scene, telegram):
    """Not by a user, a chat, a nonce or an option that is another's or made up; what cannot be read
    keeps nothing else from being read, and a reply counts once.
    """
    with_telegram(scene, telegram)
    task = question(scene)
    notifier(scene)
    (message,) = telegram.until(lambda: list(telegram.sent))
    number = message["message_id"]
    nonce = message["reply_markup"]["inline_keyboard"][0][0]["callback_data"].partition(":")[0]
    telegram.say(EVE, "drop it", reply_to=number)
    telegram.say(EVE, "drop it", reply_to=number, chat=ADA)
    telegram.say(ADA, "drop it", reply_to=number, chat=GROUP)  # another message of that number
    telegram.press(EVE, message, 0)
    telegram.press(EVE, message, 0, chat=ADA)
    telegram.press(ADA, message, 0, chat=GROUP)
    for data in (f"{nonce}:7", f"{nonce}:-1", f"{nonce}:\u0660", nonce, f"{nonce[:-1]}:0", ":0",
                 f"{nonce}:0\n", f"{nonce.upper()}x:0", "0:0", "x" * 64):  # fmt: skip
        telegram.press(ADA, message, 0, data=data)
    telegram.send_update(message={"text": "no sender", "chat": {"id": ADA}})
    telegram.send_update(message={"from": {"id": ADA}, "text": "nowhere",
                                  "reply_to_message": {"message_id": number}})  # fmt: skip
    telegram.send_update(message={"from": {"id": str(ADA)}, "text": 7})
    telegram.send_update(channel_post={"text": "drop it", "sender_chat": {"id": ADA}})
    telegram.send_update(edited_message={"from": {"id": ADA}, "text": "drop it",
                                         "chat": {"id": ADA}})  # fmt: skip
    with telegram.changed:
        last = telegram.updates[-1]["update_id"]
    read_up_to(scene, "telegram", str(last + 1))
    assert (scene.status(task), answers(scene, task)) == ("blocked", None)
    assert telegram.sent == [message], "a stranger is not even answered"
    telegram.press(ADA, message, 1)
    scene.until_status(task, "open")
    telegram.press(ADA, message, 0)
    telegram.until(lambda: any("not ask that any more" in each["text"] for each in telegram.notes))
    assert answers(scene, task) == "Postgres"
    assert [line.verb for line in lines(scene.home) if line.surface == "telegram"] == ["answer"]


def test_a_topic_is_no_way_to_answer_without_the_nonce(scene, ntfy):
    """Who may write to it cannot guess a question; a button that is pressed again says nothing."""
    scene.env["TOPIC"] = "secret-topic"
    settings(scene, f'[notify.ntfy]\nurl = "{ntfy.url}"\ntopic = "env:TOPIC"\n')
    task = question(scene)
    notifier(scene)
    (message,) = ntfy.until(lambda: list(ntfy.topics.get("secret-topic", ())))
    (button, *_) = message["actions"]
    nonce = button["body"].partition(":")[0]
    topic = button["url"].rpartition("/")[2]
    for said in ("drop it", "0", ":0", "0:0", f"{nonce}:9", f"{nonce}:", f"{nonce}: 0", nonce,
                 f"{'0' * 32}:0", f"{nonce[::-1]}:0", "x" * (1 << 20), "\0", "{}"):  # fmt: skip
        ntfy.publish(topic, message=said)
    ntfy.publish("secret-topic", message=f"{nonce}:0")  # where it tells, and does not listen
    ntfy.publish(topic, message=f"{nonce}:0", kind="no message")["event"] = "open"
    last = ntfy.publish(topic, message=["not", "text"])
    end = ntfy.publish(topic, message="the last one")
    assert last["id"] != end["id"]
    read_up_to(scene, "ntfy", end["id"])
    assert (scene.status(task), answers(scene, task)) == ("blocked", None)
    ntfy.press(message, 1)
    scene.until_status(task, "open")
    ntfy.press(message, 0)
    ntfy.press(message, 1)
    end = ntfy.publish(topic, message="the last one")
    read_up_to(scene, "ntfy", end["id"])
    assert answers(scene, task) == "Postgres"
    assert [line.verb for line in lines(scene.home) if line.surface == "ntfy"] == ["answer"]


@pytest.fixture
def page(tmp_path):
    home = Home(tmp_path / "home")
    make_home(home)
    page = Page(home)
    yield page
    page.close()


def exchange(page, code):
    sent = {"once": code, "device": "x"}
    return Client(page.server.port).ask(
        "POST", "/api/v1/session", body=sent, Content_Type="application/json"
    )


def test_what_a_browser_sent_is_of_no_use_to_another(page):
    """A code, a key of a session that was ended, and the mark of an act: each played again."""
    code, found = page.store.new_code("operate", AT_ONCE), []
    racers = [threading.Thread(target=lambda: found.append(exchange(page, code))) for _ in range(4)]
    for each in racers:
        each.start()
    for each in racers:
        each.join()
    assert sorted(each.status for each in found) == [201, *[401] * 3]
    assert len(page.store.sessions()) == 1
    (made,) = [each for each in found if each.status == 201]
    owner = Client(page.server.port, made.json["key"])
    assert owner.act("pause", {}, once="the-owners-mark").status == 200
    (page.home.path / "paused").unlink()
    phone = page.client("answer")
    assert phone.act("pause", {}, once="the-owners-mark").status == 403
    other = page.client()
    assert other.act("pause", {}, once="the-owners-mark").status == 200
    assert (page.home.path / "paused").exists(), "carried out, and not the owner's answer again"
    session = next(each for each in page.store.sessions() if each.role == "answer")
    reader = Reader(phone)
    reader.wait(lambda line: line["type"] == "snapshot")
    page.store.revoke(session.id)
    assert reader.ended.wait(10)
    reader.close()
    for path in ("now", "stream?since=1", "log"):
        assert phone.get(path).status == 401
    bare = Client(page.server.port)
    assert bare.get("stream", Cookie=f"key={owner.key}").status == 401
    assert bare.get(f"stream?key={owner.key}").status == 401
    kept = (page.home.path / "web/sessions.json").read_text()
    for word in [word for word in kept.split('"') if len(word) > 30][:2]:
        assert bare.get("now", key=word).status == 401, "the file holds no key"
    assert owner.get("now").status == 200
