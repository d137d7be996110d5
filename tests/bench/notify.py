"""How long a question takes to a phone, and its answer back into a run."""

import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from tests.bench import Figure
from tests.bench.figures import spread
from tests.notify_fakes.telegram import TOKEN, TelegramFake
from tests.story.scene import Scene

ROUNDS = 20
#: Seconds from the agent's question to the start of the run that has the answer.
GOAL = 2.0
USER = 11


def _of(telegram: TelegramFake, task: str) -> dict[str, Any]:
    """The message that told a task's question; nothing while there is none."""
    return next((each for each in telegram.sent if each["text"].startswith(task)), {})


def figures() -> Generator[Figure]:
    telegram = TelegramFake()
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        scene = Scene(Path(folder))
        scene.env["BOT_TOKEN"] = TOKEN
        scene.home.config.write_text(
            f'{scene.home.config.read_text()}\n[notify.telegram]\ntoken = "env:BOT_TOKEN"\n'
            f'base_url = "{telegram.url}"\nusers = [{USER}]\n'
        )
        scene.supervise("--quiet")
        took: list[float] = []
        try:
            for _ in range(ROUNDS):
                task = scene.add("ask end | tool done end")
                scene.until(lambda task=task: scene.run(task) is not None)
                message = telegram.until(lambda task=task: _of(telegram, task), 60)
                began = scene.run(task).started().at.timestamp()
                out = time.time() - began
                pressed = time.time()
                telegram.say(USER, "pears", reply_to=message["message_id"])
                scene.until(lambda task=task: len(scene.runs(task)) > 1)
                took.append(out + time.time() - pressed)
                scene.until_status(task, "closed")
        finally:
            scene.close()
            telegram.close()
    slowest = sorted(took)[round((len(took) - 1) * 0.99)]
    yield Figure(
        "question → phone → answer → run: p99 in s", slowest, GOAL, at_most=True,
        detail=f"{spread(took)}, with the agent's own start in it",
    )  # fmt: skip
