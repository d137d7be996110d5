"""Each act of a person once: what is done, and the sentence that tells of it.

The table of acts names these functions for surfaces that know a verb by its name; a command calls
the same function with the flags that it read, and prints the sentence.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from fleet.control import Control
from fleet.errors import QueueError
from fleet.home import Home
from fleet.home.landing_json import Landing
from fleet.schemas import Budget, Task
from fleet.schemas.shown_text import one_line

if TYPE_CHECKING:
    from fleet.control.compare.finish import ComparisonEnd
    from fleet.control.landing.land import LandEnd, Tell
    from fleet.control.landing.revert import RevertedWork
    from fleet.control.review.review import GivenReview, WorkToReview
    from fleet.control.tasks.stop import StopEnd
    from fleet.control.tasks.stop_all import Retried, StopAllEnd
    from fleet.control.tasks.tell import LeftMessage

T = TypeVar("T")
_ANSWERED = {"in_progress": "its agent goes on with it", "closed": "it is closed"}


class Acted(Struct, Generic[T], frozen=True):
    """What an act did."""

    #: A sentence for the person.
    words: str
    value: T


def unheard(text: str) -> None:
    """For a surface that shows only how an act ended."""
    del text


def answer(
    fleet: Control,
    task: Task,
    text: str,
    *,
    force: bool = False,
) -> Acted[Task]:
    """Answer what a task's agent asks."""
    from fleet.control.tasks.questions import answer

    done = answer(fleet, task, text, at=datetime.now().astimezone(), force=force)
    after = _ANSWERED.get(done.status, "it is open again")
    return Acted(f"Answered {done.id}; {after}.", done)


def tell(fleet: Control, task: Task, text: str, *, now: bool) -> "Acted[LeftMessage]":
    """Tell a task's agent something."""
    from fleet.control.tasks.tell import tell

    left = tell(fleet, task, text, now=now)
    return Acted(f"Told {task.id}: {left.words}.", left)


def stop(
    fleet: Control,
    word: str,
    *,
    now: bool,
    say: "Tell" = unheard,
) -> "Acted[StopEnd]":
    """End a task's run; `now` also where the queue does not answer."""
    from fleet.control.tasks.stop import stop

    try:
        return _stopped(stop(fleet, fleet.get(word), now=now))
    except QueueError as error:
        if not now:
            raise
        say(f"The queue does not answer: {error.message}")
        return stop_blindly(fleet.home, word, env=fleet.env)


def stop_blindly(home: Home, word: str, *, env: Mapping[str, str] = os.environ) -> "Acted[StopEnd]":
    """End a task's run at once, without the settings and without the queue."""
    from fleet.control.tasks.stop import stop_blindly

    return _stopped(stop_blindly(home, word, env=env))


def _stopped(end: "StopEnd") -> "Acted[StopEnd]":
    if not end.ended:
        return Acted(f"{end.task_id} was told to stop and has not ended yet.", end)
    return Acted(f"Stopped {end.task_id}: {one_line(end.why) or end.status}", end)


def stop_all(home: Home, *, now: bool, env: Mapping[str, str] = os.environ) -> "Acted[StopAllEnd]":
    """End every run of a home, and pause."""
    from fleet.control.tasks.stop_all import stop_all

    end = stop_all(home, now=now, env=env)
    if not end.runs:
        return Acted("Nothing was running.", end)
    gone, names = sum(run.gone for run in end.runs), ", ".join(run.task_id for run in end.runs)
    words = f"Stopped {gone} of {len(end.runs)} runs in {end.seconds:.1f} s: {names}"
    return Acted(words, end)


def retry(
    fleet: Control,
    task: Task,
    *,
    budget: Budget | None,
    fresh: bool,
) -> Acted[Task]:
    """Put a task back into the queue."""
    from fleet.control.tasks.retry import retry

    done = retry(fleet, task, budget=budget, fresh=fresh)
    anew = " It begins anew, with a clone of where its branch stands." if fresh else ""
    return Acted(f"{done.id} is open again; its attempts are forgotten.{anew}", done)


def pause(home: Home) -> Acted[None]:
    """Start no new runs."""
    from fleet.control.pause import pause

    return Acted(("Paused" if pause(home) else "Paused already") + ": no new runs.", None)


def resume(fleet: Control, *, retry_stopped: bool) -> "Acted[Retried | None]":
    """Start runs again; also those that were stopped all at once."""
    from fleet.control.pause import unpause
    from fleet.control.tasks import stop_all

    words = "Resumed." if unpause(fleet.home) else "Nothing was paused."
    return Acted(words, stop_all.retry_stopped(fleet) if retry_stopped else None)


def resume_coder(fleet: Control, coder: str) -> Acted[None]:
    """Give a held coder work again."""
    from fleet.control.resume import resume_coder

    tasks = resume_coder(fleet, coder)
    return Acted(f"{coder} gets work again; {len(tasks)} tasks waited for it.", None)


def reject(
    fleet: Control,
    task: Task,
    text: str,
    comments: Sequence[tuple[str, str]],
    *,
    work: "WorkToReview | None" = None,
) -> "Acted[GivenReview]":
    """Send work back to its session; each comment is of a FILE:LINE. `work`: as it was shown."""
    from fleet.control.review.review import remarks_on, send_back, work_of

    remarks = remarks_on(work or work_of(fleet, task.id), comments) if comments else []
    done = send_back(fleet, task, whole=text, remarks=remarks)
    return Acted(_sent_back(task.id, done), done)


def _sent_back(task_id: str, done: "GivenReview") -> str:
    match done.message.reader:
        case "agent":
            return (
                f"Told {task_id}: its agent (run {done.message.run}) reads it with its next step."
            )
        case "next_run_deaf":
            return (
                f"Told {task_id}: its agent cannot be reached, so its next run reads it."
                f" To stop the agent for it: fleet stop {task_id}, then fleet retry {task_id}"
            )
        case _ if done.reopened:
            return f"{task_id} is open again: its next run goes on with what you said."
        case _:
            return f"Told {task_id}: its next run goes on with what you said."


def approve(fleet: Control, task_id: str) -> Acted[Landing]:
    """Let work land."""
    from fleet.control.landing.approve import approve

    (landing,) = approve(fleet, [task_id])
    return Acted(f"Approved: {landing.words()}.", landing)


def land(
    fleet: Control,
    task_ids: Sequence[str],
    *,
    wait: bool,
    say: "Tell" = unheard,
) -> "Acted[LandEnd]":
    """Approve work and land it."""
    from fleet.control.landing.land import land

    end = land(fleet, task_ids, wait=wait, tell=say)
    sentences = [f"{each} has landed." for each in end.landed]
    sentences += [f"{each}: {words}." for each, words in end.left if each in task_ids]
    return Acted(" ".join(sentences), end)


def hold(fleet: Control, task_id: str) -> Acted[Landing]:
    """Keep work from landing."""
    from fleet.control.landing.approve import hold

    landing = hold(fleet, task_id)
    return Acted(f"{task_id}: {one_line(landing.words())}.", landing)


def release(fleet: Control, task_id: str) -> Acted[Landing]:
    """Let held work land again."""
    from fleet.control.landing.approve import release

    landing = release(fleet, task_id)
    return Acted(f"{task_id}: {one_line(landing.words())}.", landing)


def revert(fleet: Control, task: Task) -> "Acted[RevertedWork]":
    """Take landed work off its branch."""
    from fleet.control.landing.revert import revert

    end = revert(fleet, task)
    follows = f"; {end.into} follows later: {one_line(end.behind)}" if end.behind else ""
    return Acted(f"{task.id}: taken off {end.into}, as {end.commit[:7]}{follows}.", end)


def pick(
    fleet: Control,
    task: Task,
    entry: str,
    *,
    force: bool = False,
) -> "Acted[ComparisonEnd]":
    """Land one entry of a comparison, and put the others away."""
    from fleet.control.compare.finish import pick

    end = pick(fleet, task, entry, force=force)
    comparison, landed = end.comparison, end.landed
    if landed is None:
        return Acted(f"{entry} was picked for {task.id}.", end)
    where = f"{one_line(landed.branch)} ({landed.how}: {landed.commit[:12]})"
    words = f"Landed {comparison.picked} on {where}, and closed {comparison.task_id}."
    return Acted(" ".join((words, *map(one_line, landed.sentences))), end)
