"""An answer from elsewhere reaches the question that was answered, or none."""

import os
from collections.abc import Mapping

from fleet.control import Control
from fleet.control.acts.act_table import carry_out
from fleet.control.notify.notices import Notice
from fleet.control.notify.outbox import Asked, Outbox
from fleet.control.tasks.questions import question_of
from fleet.errors import NotFound, Refused

#: What became of a question that was answered in another way, or that is asked no more.
GONE = "no longer asked"


def answer_told(
    fleet: Control,
    outbox: Outbox,
    asked: Asked,
    text: str,
    *,
    by: str,
    env: Mapping[str, str] = os.environ,
) -> bool:
    """Answer a question that was told. False: it is not open any more, and nothing was changed.

    The first answer counts, wherever it comes from. An answer to a question that its agent has
    replaced by another one answers neither.
    """
    if asked.end or not is_open(fleet, asked):
        outbox.end_asked(asked.nonce, GONE)
        return False
    try:
        wish = {"id": asked.task, "text": text}
        named = {**env, "BEADS_ACTOR": by}
        channel = by.partition(" ")[0]  # "telegram 1234", "ntfy"
        carry_out(fleet, "answer", wish, surface=channel, env=named)
    except (NotFound, Refused):
        outbox.end_asked(asked.nonce, GONE)
        return False
    outbox.end_asked(asked.nonce, f"answered by {by}: {text.strip()[:200]}")
    return True


def is_open(fleet: Control, asked: Asked) -> bool:
    """The task still asks what was told."""
    try:
        question = question_of(fleet, fleet.get(asked.task))
    except NotFound:
        return False
    if question is None:
        return False
    words = question.question or question.note
    return Notice(topic="question", task=asked.task, text=words).key == asked.notice
