"""`tasks/<id>/asked.json`: the questions that a task's agents asked with `ask_human`.

Two processes may want the last word on a question: the one that brings a person's answer, and the
supervisor, which parks the question. Each takes the lock, and the first one wins.
"""

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from msgspec import Struct, structs

from fleet.errors import BadInput, NotFound, Refused
from fleet.files.file_lock import exclusive
from fleet.files.seals import SealedRecord
from fleet.runs.questions.questions_file import add_answer

FILE, _LOCK = "asked.json", "asked.lock"
#: Questions that one run may ask, and that are kept of a task.
A_RUN, _KEPT = 10, 100


class AskedQuestion(Struct, frozen=True, kw_only=True):
    """One question, and how far it is."""

    id: str
    #: The run that waits or waited for the answer.
    run: int
    question: str
    options: tuple[str, ...] = ()
    #: What the agent would do without an answer.
    default: str = ""
    at: datetime
    #: When the agent was told to end its turn, since no answer had come.
    parked_at: datetime | None = None
    answer: str | None = None
    answered_by: str = ""
    answered_at: datetime | None = None
    #: The agent asked something else since.
    withdrawn: bool = False

    @property
    def is_open(self) -> bool:
        return self.answer is None and not self.withdrawn

    @property
    def first_line(self) -> str:
        return self.question.strip().partition("\n")[0]

    @property
    def block(self) -> str:
        """The question with options, as agents write one into Q&A.md."""
        head, *rest = self.question.splitlines()
        lines = [f"## Q: {head}", *rest]
        lines += ["", *(f"{n}. {option}" for n, option in enumerate(self.options, 1))]
        lines += ["", f"Otherwise: {self.default}"] if self.default else []
        return "\n".join(lines).strip() + "\n"

    def is_same(self, words: str) -> bool:
        return self.question.split() == words.split()

    def chosen(self, text: str) -> str:
        """The answer that a text stands for: the number of an option is that option."""
        if text not in self.options and text.isdecimal() and 0 < int(text) <= len(self.options):
            return self.options[int(text) - 1]
        return text


class AskedQuestions(Struct, frozen=True, kw_only=True):
    """All questions of a task, in the order in which they were asked."""

    questions: tuple[AskedQuestion, ...] = ()


_RECORD = SealedRecord(FILE, AskedQuestions)
QuestionChange = Callable[[AskedQuestion], AskedQuestion]


def read(task_dir: Path) -> tuple[AskedQuestion, ...]:
    """The questions, if fleet wrote them; a damaged or foreign file holds none."""
    found = _RECORD.believed(task_dir)
    return found.questions if found is not None else ()


def last(task_dir: Path) -> AskedQuestion | None:
    """The question that was asked last; None: none was."""
    found = read(task_dir)
    return found[-1] if found else None


def open_question(task_dir: Path) -> AskedQuestion | None:
    """The question that a person can answer."""
    asked = last(task_dir)
    return asked if asked is not None and asked.is_open else None


def unheard(task_dir: Path, run: int) -> AskedQuestion | None:
    """The question that this run asked without hearing an answer: the question is open, or the
    answer came after the agent had been told to end the turn. None: no such question.
    """
    asked = last(task_dir)
    if asked is None or asked.run != run:
        return None
    return asked if asked.is_open or asked.parked_at is not None else None


def parked(task_dir: Path, run: int) -> AskedQuestion | None:
    """The question for which the agent of this run was told to end the turn."""
    asked = unheard(task_dir, run)
    return asked if asked is not None and asked.parked_at is not None else None


def ask(
    task_dir: Path,
    words: str,
    *,
    run: int,
    at: datetime,
    options: tuple[str, ...] = (),
    default: str = "",
    name: str = "",
) -> tuple[AskedQuestion, bool]:
    """Record a question durably, and return whether the question is new; one that was asked before
    is that question, with any answer. `name` is the id of a new one.

    Raises Refused beyond the limit of a run, and OSError.
    """
    with exclusive(task_dir / _LOCK):
        known = read(task_dir)
        same = next((each for each in reversed(known) if each.is_same(words)), None)
        if same is not None and same.answer is not None:
            return same, False
        if same is None and sum(each.run == run for each in known) >= A_RUN:
            raise Refused(
                f"a run may ask {A_RUN} questions",
                hint="Decide the rest yourself, and say in your close reason what you decided.",
            )
        asked = AskedQuestion(
            id=same.id if same else name or os.urandom(8).hex(),
            run=run, question=words, options=options, default=default, at=same.at if same else at,
        )  # fmt: skip
        before = [each for each in known if each.id != asked.id]
        before = [structs.replace(e, withdrawn=True) if e.is_open else e for e in before]
        _write(task_dir, (*before, asked))
        return asked, same is None


def park(task_dir: Path, question_id: str, *, at: datetime) -> AskedQuestion:
    """Note that the agent ends the turn; a question that has an answer stays unchanged."""

    def noted(asked: AskedQuestion) -> AskedQuestion:
        if asked.answer is not None or asked.parked_at is not None:
            return asked
        return structs.replace(asked, parked_at=at)

    return _change(task_dir, question_id, noted)


def answer(task_dir: Path, question_id: str, text: str, *, by: str, at: datetime) -> AskedQuestion:
    """Record a person's answer; the first one counts. Raises Refused for a later one."""
    if not text.strip():
        raise BadInput("the answer is empty")

    def answered(asked: AskedQuestion) -> AskedQuestion:
        if asked.answer is not None:
            when = f"{asked.answered_at.astimezone():%H:%M}" if asked.answered_at else "before"
            raise Refused(
                f"it was answered by {asked.answered_by} at {when}: {asked.answer[:200]}",
                hint="To say more to its agent: fleet tell",
            )
        chosen = asked.chosen(text.strip())
        return structs.replace(asked, answer=chosen, answered_by=by, answered_at=at)

    return _change(task_dir, question_id, answered)


def record_answer(task_dir: Path, question_id: str, text: str, *, by: str, at: datetime) -> str:
    """Record an answer here and in Q&A.md, and return it: the first one counts."""
    given = answer(task_dir, question_id, text, by=by, at=at).answer or ""
    add_answer(task_dir, given, at)
    return given


def _change(task_dir: Path, question_id: str, changed: QuestionChange) -> AskedQuestion:
    with exclusive(task_dir / _LOCK):
        known = read(task_dir)
        found = next((each for each in known if each.id == question_id), None)
        if found is None:
            raise NotFound("there is no such question")
        new = changed(found)
        if new != found:
            _write(task_dir, tuple(new if each is found else each for each in known))
        return new


def _write(task_dir: Path, questions: tuple[AskedQuestion, ...]) -> None:
    _RECORD.write(task_dir, AskedQuestions(questions=questions[-_KEPT:]))
