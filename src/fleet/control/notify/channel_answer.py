"""An answer from elsewhere reaches the question that was answered, or none."""

from collections.abc import Iterable

from fleet.control import Control
from fleet.control.acts.act_table import carry_out
from fleet.control.notify.notices import Notice
from fleet.control.notify.outbox import Outbox, SentQuestion
from fleet.control.tasks.questions import question_of
from fleet.errors import NotFound, Refused
from fleet.files.safe_read import stamp_of
from fleet.runs.questions.asked_json import FILE as ASKED

#: What became of a question that was answered in another way, or that is asked no more.
GONE = "no longer asked"


def answer_from_channel(
    fleet: Control,
    outbox: Outbox,
    question: SentQuestion,
    text: str,
    *,
    by: str,
) -> bool:
    """Answer a question that was told. False: it is not open any more, and nothing was changed.

    The first answer counts, wherever it comes from. An answer to a question that its agent has
    replaced by another one answers neither.
    """
    if question.end or not is_open(fleet, question):
        outbox.end_question(question.nonce, GONE)
        return False
    try:
        wish = {"id": question.task, "text": text}
        channel = by.partition(" ")[0]  # "telegram 1234", "ntfy"
        carry_out(fleet.named(by), "answer", wish, surface=channel)
    except (NotFound, Refused):
        outbox.end_question(question.nonce, GONE)
        return False
    outbox.end_question(question.nonce, f"answered by {by}: {text.strip()[:200]}")
    return True


def is_open(fleet: Control, question: SentQuestion) -> bool:
    """The task still asks what was told."""
    try:
        asked = question_of(fleet, fleet.get(question.task))
    except NotFound:
        return False
    if asked is None:
        return False
    words = asked.question or asked.note
    return Notice(topic="question", task=question.task, text=words).key == question.notice


def asked_stamps(fleet: Control, ids: Iterable[str]) -> tuple[tuple[int, int, int], ...]:
    """Changes when one of these tasks asks something, or is answered: the queue does not change
    with that.
    """
    return tuple(stamp_of(fleet.home.task(task_id) / ASKED) for task_id in ids)
