"""Questions of agents and people's answers: `Q&A.md`, `asked.json`, and what a task waits for."""

import time
from datetime import datetime, timedelta

from msgspec import Struct

from fleet.control import Control
from fleet.control.hosts.other_hosts import (
    bring_files,
    bring_if_possible,
    is_elsewhere_now,
    runs_elsewhere,
    store_task_file,
)
from fleet.control.landing.open_landings import open_landings
from fleet.control.tasks.retry import check_reopenable
from fleet.errors import BadInput, InvalidTask, Refused
from fleet.home.task_json import settings_of
from fleet.queue.protocol import Filter
from fleet.runs.questions import asked_json, questions_file
from fleet.runs.questions.asked_json import AskedQuestion, record_answer
from fleet.runs.run_directory import latest_run
from fleet.schemas import Task
from fleet.schemas.waits import Asks, PlanWritten, Proposed, reason_of

#: How much of an answer goes into the notes; all of it is in Q&A.md.
_NOTE_CAP = 500
#: Seconds for another host to hand an answer on, and between two looks.
_HANDED_ON, _LOOK = 20.0, 0.2
#: What becomes of a task that was answered, where it does not go back into the queue.
_ANSWERED = {"in_progress": "its agent goes on with it", "closed": "it is closed"}
#: What a person can say to a task that an agent proposed.
DECISIONS = ("accept", "refuse")


class Question(Struct, frozen=True, kw_only=True):
    """A task that asks a person something."""

    id: str
    title: str
    cwd: str
    #: The note that the agent blocked the task with; empty if only Q&A.md has a question.
    note: str = ""
    #: The last `## Q:` block that has no answer; empty if there is none.
    question: str = ""
    #: The task waits with a plan, and with no question.
    plan: bool = False
    #: The command that answers the question.
    way_out: str = ""
    #: The answers that the agent offers, and what it would do without one. Any text is an answer.
    options: tuple[str, ...] = ()
    default: str = ""
    #: When the question was asked, where that is known.
    asked_at: datetime | None = None
    #: The agent runs and waits for the answer right now, until this moment if it waits no longer.
    waiting: bool = False
    waits_until: datetime | None = None
    #: An agent proposed the task, and asks whether the task may be worked on.
    proposed: bool = False


def questions(fleet: Control) -> tuple[list[Question], int]:
    """The tasks that ask something, and how many more are blocked for another reason.

    Tasks that are on their way to a branch are neither.
    """
    landing = open_landings(fleet)
    found = fleet.queue.find(Filter(statuses=("blocked", "in_progress")))
    tasks = [task for task in found if task.id not in landing]
    asked = {task.id: question for task in tasks if (question := question_of(fleet, task))}
    others = sum(task.status == "blocked" and task.id not in asked for task in tasks)
    return list(asked.values()), others


def question_of(fleet: Control, task: Task) -> Question | None:
    """The question of a task; None if the task asks nothing."""
    bring_if_possible(fleet, task.id)
    task_dir = fleet.home.task(task.id)
    asked = _asked_elsewhere(fleet, task) or asked_json.open_question(task_dir)
    runs = task.status == "in_progress"
    if runs and asked is None:
        return None
    asked = asked or _answered_yet_blocked(fleet, task)
    if asked is not None and (runs or asked.parked_at is not None):
        # Q&A.md has the block a moment later: a question has the same words from the beginning.
        return Question(
            id=task.id, title=task.title, cwd=_cwd(fleet, task), note=asked.question,
            question=questions_file.open_question(asked.block), options=asked.options,
            default=asked.default, asked_at=asked.at,
            waiting=runs and asked.parked_at is None, way_out=_way_out(task),
            waits_until=_waits_until(fleet, task, asked) if runs else None,
        )  # fmt: skip
    if isinstance(task.waits, Proposed):
        return Question(
            id=task.id, title=task.title, cwd=_cwd(fleet, task),
            note=f"proposed by {task.waits.by}", question=task.description.strip(),
            options=DECISIONS, asked_at=task.created_at, proposed=True,
            way_out=f"fleet answer {task.id} accept|refuse",
        )  # fmt: skip
    block = questions_file.open_question(questions_file.read(task_dir))
    plan = isinstance(task.waits, PlanWritten)
    if not plan and not block and not isinstance(task.waits, Asks):
        return None
    verbs = f"fleet plan show|approve|revise|cancel {task.id}"
    return Question(
        id=task.id, title=task.title, cwd=_cwd(fleet, task), note=_note(task), question=block,
        plan=plan and not block, way_out=verbs if plan and not block else _way_out(task),
    )  # fmt: skip


def _waits_until(fleet: Control, task: Task, asked: AskedQuestion) -> datetime | None:
    """Until when the agent waits for the answer; None: not known, or it was told to end."""
    run = latest_run(fleet.home.task(task.id))
    spec = run.known_spec() if run is not None and run.number == asked.run else None
    wait = spec.policy.ask_wait if spec is not None and asked.parked_at is None else None
    return asked.at + timedelta(seconds=wait) if wait is not None else None


def _cwd(fleet: Control, task: Task) -> str:
    try:
        return fleet.place(task).cwd
    except InvalidTask as error:
        return error.message


def _way_out(task: Task) -> str:
    return f'fleet answer {task.id} "…"'


def _note(task: Task) -> str:
    """What the task was blocked with; empty if that was neither a question nor a plan."""
    if isinstance(task.waits, Asks):
        return task.waits.text or task.why_blocked
    return reason_of(task.waits) if isinstance(task.waits, PlanWritten) else ""


def writes_plan(fleet: Control, task: Task) -> bool:
    """The task is one whose agent writes a plan, which a person approves."""
    try:
        return settings_of(fleet.home, task).expect == "plan"
    except InvalidTask:
        return False


def answer(
    fleet: Control,
    task: Task,
    text: str,
    *,
    at: datetime,
    force: bool = False,
) -> Task:
    """Answer a task's question. An agent that waits has the answer at once; a task that is blocked
    goes back into the queue. Of two answers the first one counts. Raises Refused.
    """
    if not text.strip():
        raise BadInput("the answer is empty", hint='Say something: fleet answer ID "Use SQLite"')
    bring_files(fleet, task)
    if (waits := _asked_elsewhere(fleet, task)) is not None:
        if _answer_elsewhere(fleet, task, waits, text, by=fleet.by):
            return fleet.queue.get(task.id)
        task = fleet.queue.get(task.id)  # parked meanwhile: the answer is for the next run
        bring_files(fleet, task)
    asked = asked_json.open_question(fleet.home.task(task.id))
    if task.status == "in_progress" and asked is not None:
        return _answer_running(fleet, task, asked, text, at=at, by=fleet.by)
    check_reopenable(fleet, task)
    if isinstance(task.waits, Proposed):
        return _decide(fleet, task, text, by=fleet.by)
    if not force and (task.status != "blocked" or question_of(fleet, task) is None):
        raise Refused(
            f"{task.id} asks nothing: it is {task.status}",
            hint="See what does: fleet questions. To tell it something anyway: --force",
        )
    if writes_plan(fleet, task) and text.strip().lower() in ("approve", "cancel", "revise"):
        word = text.strip().lower()
        raise Refused(
            f"{task.id} waits with a plan", hint=f"Say it so: fleet plan {word} {task.id}"
        )
    if asked is not None:
        task_dir = fleet.home.task(task.id)
        given = record_answer(task_dir, asked.id, text, by=fleet.by, at=at)
        _store_answer(fleet, task, asked=True)
        return _reopened(fleet, task, given, by=fleet.by)
    before = _answered_yet_blocked(fleet, task)
    if before is not None and before.answer == (given := before.chosen(text.strip())):
        return _reopened(fleet, task, given, by=fleet.by)
    questions_file.add_answer(fleet.home.task(task.id), text.strip(), at)
    _store_answer(fleet, task, asked=False)
    # The question stays in the notes; what stands below it says that it is no longer open.
    return fleet.queue.reopen_task(task, by=fleet.by, note=f"ANSWERED: {_first(text)}")


def answered_words(task: Task) -> str:
    """What a person is told of a task that was answered."""
    return f"Answered {task.id}; {_ANSWERED.get(task.status, 'it is open again')}."


def _store_answer(fleet: Control, task: Task, *, asked: bool) -> None:
    """Store the answer with the queue, so that the task's next run has the answer on any host."""
    for file in (questions_file.FILE, *((asked_json.FILE,) if asked else ())):
        store_task_file(fleet, task, str(file))


def _asked_elsewhere(fleet: Control, task: Task) -> AskedQuestion | None:
    """What the running agent of another host asks and waits for; None: nothing."""
    if task.status != "in_progress" or not is_elsewhere_now(fleet, task):
        return None
    run = runs_elsewhere(fleet, task.id).run_of(task)
    return run.asked if run is not None else None


def _answer_elsewhere(
    fleet: Control, task: Task, asked: AskedQuestion, text: str, *, by: str
) -> bool:
    """Have the host that runs the task hand the answer on. False: its run was over before."""
    given = asked.chosen(text.strip())
    fleet.queue.request(task.id, "answer", text=f"{asked.id} {given}", asked_by=by)
    end = time.monotonic() + _HANDED_ON
    while time.monotonic() < end:
        now = fleet.queue.get(task.id)
        wishes = (each for each in fleet.queue.requests() if each.task_id == task.id)
        mine = next((each for each in wishes if each.wish == "answer"), None)
        if mine is None:
            return True
        if now.fence != task.fence or now.lease_owner != task.lease_owner:
            fleet.queue.answered(mine)
            return False
        time.sleep(_LOOK)
    raise Refused(
        f"the host that runs {task.id} has not taken the answer within {_HANDED_ON:.0f} s",
        hint="The host takes the answer once it reaches the queue. See: fleet hosts",
    )


def _answered_yet_blocked(fleet: Control, task: Task) -> AskedQuestion | None:
    """The question that the last run was parked with, if its answer is written and the task is
    still blocked: the process that wrote the answer puts the task back now, or could not.
    """
    task_dir = fleet.home.task(task.id)
    asked = asked_json.last(task_dir) if task.status == "blocked" else None
    if asked is None or asked.answer is None or asked.parked_at is None:
        return None
    run = latest_run(task_dir)
    is_of_last = run is not None and run.number == asked.run
    return asked if is_of_last and isinstance(task.waits, Asks) else None


def _answer_running(
    fleet: Control, task: Task, asked: AskedQuestion, text: str, *, at: datetime, by: str
) -> Task:
    """Answer an agent that waits. One that was parked just now is blocked as its run ends: this
    process looks at the task after it wrote the answer, the supervisor the other way round.
    """
    from fleet.spool.drop_box import give_answer  # commands that only read questions go without

    given = record_answer(fleet.home.task(task.id), asked.id, text, by=by, at=at)
    run = latest_run(fleet.home.task(task.id))
    if run is not None:
        give_answer(run, asked.id, given)
    now = fleet.queue.get(task.id)
    return _reopened(fleet, now, given, by=by) if now.status == "blocked" else now


def _reopened(fleet: Control, task: Task, given: str, *, by: str) -> Task:
    """The task, back in the queue. The supervisor that has just blocked it may have been first."""
    try:
        return fleet.queue.reopen_task(task, by=by, note=f"ANSWERED: {_first(given)}")
    except Refused:
        now = fleet.queue.get(task.id)
        if now.status not in ("open", "in_progress"):
            raise
        return now


def _first(text: str) -> str:
    return text.strip().splitlines()[0][:_NOTE_CAP]


def _decide(fleet: Control, task: Task, text: str, *, by: str) -> Task:
    """Accept or refuse a task that an agent proposed; words behind are the reason."""
    word, _, why = text.strip().partition(" ")
    match word.lower().rstrip(":,."):
        case "accept" | "1":
            return fleet.queue.reopen_task(task, by=by, note=f"ACCEPTED: by {by}")
        case "refuse" | "2":
            reason = why.strip() or "not wanted"
            return fleet.queue.close_task(task, by=by, reason=f"refused: {reason}")
        case _:
            raise BadInput(
                f"{task.id} was proposed by an agent: it is accepted or refused",
                hint=f'fleet answer {task.id} accept, or fleet answer {task.id} "refuse WHY"',
            )
