"""What needs a person finds the person, and the answer finds its way back."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from fleet.control.notify.outbox import Outbox
from fleet.schemas import Blocked
from fleet.schemas.waits import Asks
from tests import warm
from tests.conftest import often
from tests.notify_fakes.http_fake import HttpFake
from tests.notify_fakes.ntfy import NtfyFake
from tests.notify_fakes.telegram import TOKEN, TelegramFake
from tests.settled import settle
from tests.story.stage import PATIENCE

ADA, EVE = 11, 66


@pytest.fixture
def telegram():
    fake = TelegramFake()
    yield fake
    fake.close()


def settings(scene, text):
    """Add tables to runtime.toml."""
    scene.home.config.write_text(f"{scene.home.config.read_text()}\n{text}\n")
    scene.env["BOT_TOKEN"] = TOKEN


def with_telegram(scene, fake, users=(ADA,)):
    settings(
        scene,
        f'[notify]\nagain = "1m"\n[notify.telegram]\ntoken = "env:BOT_TOKEN"\n'
        f'base_url = "{fake.url}"\nusers = {list(users)}\n',
    )


def notifier(scene):
    """Start a notifier of its own; it ends with the scene."""
    with (scene.home.path / "screen").open("ab") as out, Path(os.devnull).open("rb") as empty:
        process = warm.start(
            ("notify", "run"), env=scene.env, cwd=scene.project, streams=(empty, out, out)
        )
    scene.supervisors.append(process)
    return process


def ask(scene, text="Which database?", **more):
    """A task whose agent asks something, and waits."""
    task = scene.add(**more)
    done = scene.fleet("bd", "update", task, "--status", "blocked", "--notes", f"QUESTION: {text}")
    assert done.returncode == 0, done.stderr
    return task


def wait(fact, patience=PATIENCE):
    end = time.monotonic() + patience
    while not fact():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return fact()


def test_a_question_is_answered_from_a_phone(scene, telegram):
    """By a reply to its own message; the message then says who answered, and the task goes on."""
    with_telegram(scene, telegram)
    task = ask(scene)
    notifier(scene)
    (message,) = telegram.until(lambda: list(telegram.sent))
    assert message["chat_id"] == ADA
    assert "Which database?" in message["text"]
    telegram.say(ADA, "SQLite", reply_to=message["message_id"])
    scene.until_status(task, "open")
    answers = (scene.folder(task) / "artifacts/Q&A.md").read_text()
    assert "SQLite" in answers
    (edit,) = telegram.until(lambda: list(telegram.edits))
    assert f"answered by telegram {ADA}" in edit["text"]


def test_strangers_stale_and_loose_replies_change_nothing(scene, telegram):
    """A bot is found by anyone; and a text that answers no message answers no question."""
    with_telegram(scene, telegram)
    task = ask(scene)
    notifier(scene)
    (message,) = telegram.until(lambda: list(telegram.sent))
    telegram.say(EVE, "drop it", reply_to=message["message_id"])
    telegram.say(ADA, "SQLite")
    hint = telegram.until(lambda: telegram.sent[1:])
    assert "Reply to the message" in hint[0]["text"]
    assert scene.status(task) == "blocked"
    assert not [each for each in telegram.sent if each["chat_id"] == EVE]
    assert scene.fleet("answer", task, "Postgres").returncode == 0
    telegram.until(lambda: telegram.edits)
    telegram.say(ADA, "SQLite", reply_to=message["message_id"])
    telegram.until(lambda: "does not ask that any more" in telegram.sent[-1]["text"])
    assert "SQLite" not in (scene.folder(task) / "artifacts/Q&A.md").read_text()


def test_limits_of_the_service_are_obeyed_and_nothing_is_lost(scene, telegram):
    """Neither a refused message nor a second reader of the bot's messages loses anything."""
    telegram.troubles["sendMessage"] = [(429, {"parameters": {"retry_after": 1}})]
    telegram.troubles["getUpdates"] = [(409, {"description": "Conflict"})]
    with_telegram(scene, telegram)
    task = ask(scene)
    notifier(scene)
    (message,) = telegram.until(lambda: list(telegram.sent))
    telegram.say(ADA, "SQLite", reply_to=message["message_id"])
    scene.until_status(task, "open")
    assert "another program reads this bot's messages" in scene.screen()
    assert TOKEN not in scene.screen()


def test_an_answer_that_is_read_twice_counts_once(scene, telegram):
    """A notifier that is killed between the answer and its note reads the same reply again."""
    with_telegram(scene, telegram)
    task = ask(scene)
    process = notifier(scene)
    (message,) = telegram.until(lambda: list(telegram.sent))
    telegram.say(ADA, "SQLite", reply_to=message["message_id"])
    scene.until_status(task, "open")
    scene.kill(process)
    outbox = Outbox(scene.home)
    outbox.remember("telegram.since", "0")
    outbox.close()
    scene.fleet("bd", "update", task, "--status", "blocked", "--notes", "QUESTION: And the port?")
    telegram.say(ADA, "SQLite", reply_to=message["message_id"])
    notifier(scene)
    telegram.until(lambda: any("And the port?" in each["text"] for each in telegram.sent))
    telegram.until(lambda: any("not ask that any more" in each["text"] for each in telegram.sent))
    assert scene.status(task) == "blocked"
    assert (scene.folder(task) / "artifacts/Q&A.md").read_text().count("SQLite") == 1


def test_the_supervisor_keeps_a_notifier(scene, tmp_path):
    """A command gets each message as JSON; the notifier ends with the supervisor."""
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ncat >> {tmp_path}/told; echo >> {tmp_path}/told\n")
    hook.chmod(0o755)
    settings(scene, f'[notify]\ncommand = ["{hook}"]\non = ["question", "blocked", "idle"]\n')
    task = ask(scene)
    supervisor = scene.supervise()
    told = tmp_path / "told"
    line = wait(lambda: told.exists() and told.read_text().splitlines())[0]
    message = json.loads(line)
    assert (message["topic"], message["tasks"]) == ("question", [task])
    assert f"fleet answer {task}" in message["text"]
    assert scene.fleet("notify", "status").stdout.startswith("notifier: running")
    supervisor.send_signal(signal.SIGTERM)
    supervisor.wait(PATIENCE)
    wait(lambda: "not running" in scene.fleet("notify", "status").stdout)


class NtfyAndHook(HttpFake):
    """Takes what apprise posts."""

    def __init__(self):
        self.got = []
        super().__init__()

    def answer(self, method, path, body):
        with self.changed:
            self.got.append(json.loads(body))
            self.changed.notify_all()
        return 200, {}


def test_ntfy_and_apprise_are_told(scene):
    """Both by their real protocols; a misspelt address keeps no other from being told."""
    pytest.importorskip("apprise")
    ntfy, hook = NtfyFake(), NtfyAndHook()
    scene.env["TOPIC"] = "secret-topic"
    address = hook.url.replace("http://", "json://")
    settings(
        scene,
        f'[notify]\nto = ["{address}", "nosuch://x"]\n[notify.ntfy]\n'
        f'url = "{ntfy.url}"\ntopic = "env:TOPIC"\n',
    )
    tested = scene.fleet("notify", "test")
    assert tested.returncode == 1
    assert "✓ ntfy" in tested.stdout
    assert "✓ apprise:1:json" in tested.stdout
    assert "nosuch" in tested.stdout
    assert hook.got[0]["title"] == "fleet can reach you"
    assert ntfy.topics["secret-topic"][0]["title"] == "fleet can reach you"
    ntfy.close()
    hook.close()


class Hangs(HttpFake):
    """Takes a message and never says so."""

    def __init__(self):
        self.asked, self.over = threading.Event(), threading.Event()
        super().__init__()

    def answer(self, method, path, body):
        self.asked.set()
        self.over.wait(60)
        return 200, {}


def test_a_channel_that_hangs_or_is_misspelt_holds_no_other(scene, tmp_path):
    """Each has a thread of its own, and what cannot be used is named."""
    deaf, told = Hangs(), tmp_path / "told"
    scene.env["TOPIC"] = "a-topic"
    settings(
        scene,
        f'[notify]\nto = ["jsn://127.0.0.1/x"]\ncommand = ["cp", "/dev/stdin", "{told}"]\n'
        f'[notify.telegram]\ntoken = "env:BOT_TOKEN"\n'
        f'[notify.ntfy]\ntopic = "env:TOPIC"\nurl = "{deaf.url}"\n',
    )
    notifier(scene)
    for word in ("Which?", "And what else?"):
        ask(scene, word)
        wait(lambda word=word: told.exists() and word in told.read_text())
    assert deaf.asked.wait(PATIENCE)
    assert "(jsn://…) is no service that apprise knows" in scene.screen()
    assert "has no users" in scene.screen()
    deaf.over.set()
    deaf.close()


def test_a_person_is_paired_by_a_code(scene, telegram):
    """Their id goes into the settings; a stranger without the code is not heard."""
    with_telegram(scene, telegram, users=())
    pairing = scene_pair(scene)
    line = pairing.stdout.readline().decode()
    code = line.rsplit("/start ", 1)[1].strip()
    telegram.say(EVE, "/start wrong")
    telegram.say(ADA, f"/start {code}")
    assert pairing.wait(PATIENCE) == 0
    pairing.stdout.close()
    assert "users = [11]" in scene.home.config.read_text()


def scene_pair(scene):
    words = (sys.executable, "-m", "fleet", "notify", "pair", "telegram", "--yes")
    return subprocess.Popen(words, env={**scene.env, "PYTHONUNBUFFERED": "1"}, cwd=scene.project,
                            stdout=subprocess.PIPE)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[notify]\nquiet = "late"', "22:00-07:30"),
        ('[notify]\ndigest = "25:00"', "08:00"),
        ("[notify]\nnosuch = 1", "nosuch"),
        ('[notify]\non = ["nonsense"]', "'nonsense'; known: question, blocked"),
        (
            '[notify.telegram]\ntoken = "1234:SECRET"',
            "telegram.token: a setting says where a secret is",
        ),
        ('[notify.telegram]\ntoken = "env:T"\nbase_url = "ftp://x"', "address"),
        ("notify = 3", "[notify]"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_with_their_place(scene, text, said):
    """And a secret that was written there is not repeated."""
    before = scene.home.config.read_text()
    scene.home.config.write_text(
        f"{text}\n{before}" if text.startswith("notify") else f"{before}\n{text}\n"
    )
    refused = scene.fleet("status")
    assert refused.returncode == 3
    assert said in refused.stderr
    assert "SECRET" not in refused.stderr


@pytest.mark.timeout(600)
def test_no_message_is_lost_over_kills(scene, tmp_path):
    """A notifier that is killed again and again tells everything, each under its key."""
    tasks, kills = often(6, 1000), often(3, 50)
    told = tmp_path / "told"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$(cat)\" >> {told}\n")  # a whole line, or none
    hook.chmod(0o755)
    settings(scene, f'[notify]\ncommand = ["{hook}"]\n')
    ids = {scene.add() for _ in range(tasks)}
    for lease in scene.queue.claim("x", count=tasks, ttl=timedelta(minutes=5)):
        settle(scene.queue, lease, Blocked(waits=Asks(text=f"{lease.task.id}?")))

    def keys():
        lines = (
            [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
        )
        return {each["tasks"][0]: each["key"] for each in lines}

    for _ in range(kills):
        known = len(keys())
        process = notifier(scene)
        # On a busy machine the first one may have told everything before it is killed.
        wait(lambda known=known: len(keys()) > known or keys().keys() == ids)
        scene.kill(process)
    notifier(scene)
    wait(lambda: keys().keys() == ids, 300)
